import { nextTurn } from "../../kernel/concurrency/sleep.ts";
import { isObject, type Json, parseJson } from "../../kernel/text/json.ts";
import { invalid, refusedFor } from "../server/problem.ts";
import type { IncomingBody } from "./bodyAdmission.ts";
import { announcesBody, mediaTypeOf, readBytes, requireIdentity } from "./bodyBytes.ts";
import { NO_BODY_BYTES_MAX } from "./bodyLimits.ts";
import { checkValue, pointerTo, requireBoundedShape } from "./jsonLimits.ts";
import { jsonSyntaxError } from "./jsonSyntaxError.ts";

/** Above this size we yield to the event loop between steps: each takes some milliseconds per megabyte. */
const YIELD_ABOVE_BYTES = 1_000_000;

/** Refuses anything but plain JSON by the headers. */
export function requireJson(headers: Headers): void {
  if (mediaTypeOf(headers) !== "application/json") {
    throw invalid("/Content-Type", "must be application/json");
  }
  requireIdentity(headers);
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The decoder would silently drop it, and RFC 8259 (§8.1) forbids sending it. */
function beginsWithMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw invalid("", "is not UTF-8");
  }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    const found = jsonSyntaxError(text);
    const where = found && `: line ${found.line}, column ${found.column}: ${found.expected} was expected`;
    throw invalid("", `is not JSON${where ?? ""}`);
  }
}

/**
 * Reads the JSON body of a request, within every limit, refusing values that would be stored differently than sent. An
 * optional one may be left out: then an empty object.
 */
export async function readJsonBody(
  request: Request,
  body: IncomingBody,
  bytesMax: number,
  { check = checkValue, isOptional = false } = {},
): Promise<Json> {
  const bytes = await readBytes(request, body, bytesMax);
  // Only reading it shows that a chunked body is empty.
  if (isOptional && bytes.length === 0) return {};
  if (isOptional) requireJson(request.headers);
  return jsonIn(bytes, check);
}

/** The JSON in these bytes. Throws a problem as {@link readJsonBody} does. */
export async function jsonIn(bytes: Uint8Array, check = checkValue): Promise<Json> {
  if (bytes.length === 0) throw invalid("", "is empty");
  if (beginsWithMark(bytes)) throw invalid("", "begins with a byte order mark, which JSON does not have");
  const isLarge = bytes.length > YIELD_ABOVE_BYTES;
  if (isLarge) await nextTurn();
  requireBoundedShape(bytes);
  if (isLarge) await nextTurn();
  const value = parsed(textOf(bytes));
  if (isLarge) await nextTurn();
  check(value);
  return value;
}

const NOT_TAKEN = "is not taken: this operation has no body";
const BODY_NOT_TAKEN = invalid("", NOT_TAKEN);

/**
 * Refuses a body where none is accepted, naming its members: its sender believes that they do something. Lets an
 * empty one pass, because many clients send `{}` with every POST.
 */
export async function requireNoBody(request: Request, body: IncomingBody): Promise<void> {
  if (!announcesBody(request.headers)) return;
  const bytes = await readBytes(request, body, NO_BODY_BYTES_MAX, BODY_NOT_TAKEN);
  const text = new TextDecoder().decode(bytes).trim();
  const members = text === "" ? [] : membersOf(text);
  if (members === null) throw BODY_NOT_TAKEN;
  if (members.length === 0) return;
  const errors = members.map((name) => ({ pointer: pointerTo("", name), message: NOT_TAKEN }));
  throw refusedFor("INVALID_REQUEST", errors);
}

/** The names of an object's members; null if the text is not a JSON object. */
function membersOf(text: string): readonly string[] | null {
  const value = parseJson(text);
  return isObject(value) ? Object.keys(value) : null;
}
