import type { Json, JsonObject } from "../../kernel/text/json.ts";
import { grouped } from "../../kernel/text/text.ts";
import { wholeNumber } from "../../kernel/text/wholeNumber.ts";
import { ERRORS_MAX, invalid, Problem, refusedFor } from "../server/problem.ts";
import type { IncomingBody } from "./bodyAdmission.ts";
import { NO_BODY_BYTES_MAX, SMALL_BODY_BYTES_MAX } from "./bodyLimits.ts";
import { jsonSyntaxError } from "./jsonSyntaxError.ts";

/** The deepest nesting of a request; the top-level object is level 1. */
const DEPTH_MAX = 32;
/** Deeper than this is refused before it is parsed: `JSON.parse` would go five million levels down. */
const PARSED_DEPTH_MAX = 1_000;

/** `variables` has room for half as many; millions would hold up everybody else while they are walked. */
const VALUES_MAX = 100_000;

/** So much of a large body has come before it gets all the memory that it announces. */
const PROBED_BYTES = 262_144;
/** Between two steps with a body of this size others get their turn: each step takes some milliseconds a megabyte. */
const YIELD_ABOVE_BYTES = 1_000_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;

function tooLarge(bytesMax: number): Problem {
  return new Problem("PAYLOAD_TOO_LARGE", { detail: `the body is over ${grouped(bytesMax)} bytes` });
}

/** The media type of the Content-Type header, without its parameters; "" where there is none. */
export function mediaTypeOf(headers: Headers): string {
  return (headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** Refuses what is not plain JSON before any of the body is read. */
export function requireJson(headers: Headers): void {
  if (mediaTypeOf(headers) !== "application/json") {
    throw new Problem("INVALID_REQUEST", { detail: "the Content-Type must be application/json" });
  }
  requireIdentity(headers);
}

/** Refuses a body that is compressed. */
export function requireIdentity(headers: Headers): void {
  const encoding = (headers.get("content-encoding") ?? "identity").trim().toLowerCase();
  if (encoding !== "identity") {
    throw new Problem("INVALID_REQUEST", { detail: "the Content-Encoding must be identity" });
  }
}

/** The Content-Length; null without one. Two of them, equal ones too, arrive as "12, 12". */
export function contentLengthOf(headers: Headers): number | null {
  const text = headers.get("content-length");
  if (text === null) return null;
  const length = wholeNumber(text);
  if (length !== null) return length;
  throw new Problem("INVALID_REQUEST", {
    detail: "the Content-Length header must be sent once, as a whole number",
  });
}

/** Whether a request says that it has a body. */
export function announcesBody(headers: Headers): boolean {
  return headers.has("transfer-encoding") || (contentLengthOf(headers) ?? 0) > 0;
}

/**
 * The bytes of a body, within its bound. A small one that says its length is read in one go, which costs a send the
 * least, and has room for all of it from the start; of others only what has come is counted.
 */
export async function readBytes(request: Request, body: IncomingBody, bytesMax: number): Promise<Uint8Array> {
  const length = contentLengthOf(request.headers);
  if (length !== null && length > bytesMax) throw tooLarge(bytesMax);
  if (length === null || length > SMALL_BODY_BYTES_MAX) {
    return readAsItComes(request, body, { length, bytesMax });
  }
  body.admit(length);
  return new Uint8Array(await body.next(request.arrayBuffer()));
}

/** A large body is in memory only once: its parts are joined as soon as enough of it has come to believe its length. */
async function readAsItComes(
  request: Request,
  body: IncomingBody,
  { length, bytesMax }: { readonly length: number | null; readonly bytesMax: number },
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let whole: Uint8Array | null = null;
  let bytes = 0;
  for await (const part of partsOf(request, body)) {
    if (bytes + part.byteLength > bytesMax) throw tooLarge(bytesMax);
    body.admit(part.byteLength);
    if (whole === null) parts.push(part);
    else whole.set(part, bytes);
    bytes += part.byteLength;
    if (whole === null && length !== null && bytes >= PROBED_BYTES) {
      whole = joined(parts.splice(0), length);
    }
  }
  return whole ?? joined(parts, bytes);
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}

/** The parts of a body as they come. Throws when the connection ends early, and when the body is cut off. */
export async function* partsOf(
  { body: stream }: Request,
  body: IncomingBody,
): AsyncGenerator<Uint8Array, void, void> {
  const reader = stream?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await body.next(reader.read());
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/**
 * The index of the quote that ends the string which begins at `start`. Skips by native search: files are long. Where that
 * finds a quote that may be escaped, it goes byte by byte: a search for each of millions of quotes would take longer.
 */
function stringEnd(bytes: Uint8Array, start: number): number {
  const end = bytes.indexOf(QUOTE, start + 1);
  if (end < 0) return bytes.length;
  if (bytes[end - 1] !== BACKSLASH) return end;
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

/**
 * What is wrong with the shape of the text, found before it is parsed and walked: it nests too deep, or holds
 * more values than any request can need. Null when nothing is. Brackets and commas inside strings do not count.
 */
function shapeFault(bytes: Uint8Array): string | null {
  let depth = 0;
  let values = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index] as number;
    if (byte === QUOTE) index = stringEnd(bytes, index);
    else if (byte === COMMA) values += 1;
    // `[` and `{` differ in one bit, and so do `]` and `}`.
    else if ((byte | 0x20) === 0x7b) depth += 1;
    else if ((byte | 0x20) === 0x7d) depth -= 1;
    if (depth > PARSED_DEPTH_MAX) return `is nested deeper than ${DEPTH_MAX} levels`;
    if (values > VALUES_MAX) return `holds more than ${VALUES_MAX} values`;
  }
  return null;
}

/** Throws for bytes that would take long to parse as JSON: {@link shapeFault}. */
export function requireBoundedShape(bytes: Uint8Array): void {
  const fault = shapeFault(bytes);
  if (fault !== null) throw invalid("", fault);
}

function pointerTo(parent: string, key: string | number): string {
  return `${parent}/${String(key).toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** What is wrong with a value, and by which members and items it is reached: the innermost first. */
interface ValueFault {
  readonly message: string;
  readonly path: (string | number)[];
}

/** Refuses what JSON lets pass and nobody can store or compare faithfully. */
function checkValue(value: Json): void {
  const fault = valueFault(value, 1);
  if (fault !== null) throw invalid(fault.path.reduceRight<string>(pointerTo, ""), fault.message);
}

function valueFault(value: Json, depth: number): ValueFault | null {
  if (typeof value === "string") return value.isWellFormed() ? null : fault("contains a lone surrogate");
  if (typeof value === "number") return numberFault(value);
  if (value === null || typeof value !== "object") return null;
  if (depth > DEPTH_MAX) return fault(`is nested deeper than ${DEPTH_MAX} levels`);
  return Array.isArray(value) ? itemFault(value, depth) : memberFault(value as JsonObject, depth);
}

function fault(message: string): ValueFault {
  return { message, path: [] };
}

function numberFault(value: number): ValueFault | null {
  if (!Number.isFinite(value)) return fault("is a number that is too large");
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return null;
  return fault("is an integer outside the range that is exact (up to 2^53 - 1)");
}

/** The path is made on the way back from what is wrong: names can be long, and each would be in all below it. */
function within(key: string | number, found: ValueFault): ValueFault {
  found.path.push(key);
  return found;
}

function itemFault(items: readonly Json[], depth: number): ValueFault | null {
  for (const [index, item] of items.entries()) {
    const found = valueFault(item, depth + 1);
    if (found !== null) return within(index, found);
  }
  return null;
}

/** Elysia writes a wrong value into a text, which throws where a member named toString hides the method. */
function keepPrintable(value: object): void {
  if (!Object.hasOwn(value, "toString")) return;
  Object.defineProperty(value, Symbol.toPrimitive, { value: () => "an object" });
}

function memberFault(value: JsonObject, depth: number): ValueFault | null {
  keepPrintable(value);
  for (const [key, member] of Object.entries(value)) {
    const found = key.isWellFormed()
      ? valueFault(member as Json, depth + 1)
      : fault("has a name with a lone surrogate");
    if (found !== null) return within(key, found);
  }
  return null;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The decoder would leave it out without a word, and RFC 8259 (§8.1) lets nobody send it. */
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

/** What a route takes for a body. */
export interface JsonBodyRules {
  /** The longest encoded body, in bytes. */
  readonly bytesMax: number;
}

/** The JSON body of a request, within every bound and with nothing in it that would be stored otherwise than sent. */
export async function readJsonBody(
  request: Request,
  body: IncomingBody,
  { bytesMax }: JsonBodyRules,
): Promise<Json> {
  const bytes = await readBytes(request, body, bytesMax);
  if (bytes.length === 0) throw invalid("", "is empty");
  if (beginsWithMark(bytes)) throw invalid("", "begins with a byte order mark, which JSON does not have");
  const isLarge = bytes.length > YIELD_ABOVE_BYTES;
  if (isLarge) await nextTurn();
  requireBoundedShape(bytes);
  if (isLarge) await nextTurn();
  const value = parsed(textOf(bytes));
  if (isLarge) await nextTurn();
  checkValue(value);
  return value;
}

/** The JSON body of a request that may come without: then an empty object. */
export async function readOptionalJsonBody(
  request: Request,
  body: IncomingBody,
  rules: JsonBodyRules,
): Promise<Json> {
  if (!announcesBody(request.headers)) return {};
  requireJson(request.headers);
  return readJsonBody(request, body, rules);
}

const NOT_TAKEN = "is not taken: this operation has no body";

/**
 * Refuses a body where none is taken, by the names of its members: who sends one believes that it does something.
 * What holds nothing is let pass, for many clients send `{}` with every POST.
 */
export async function requireNoBody(request: Request, body: IncomingBody): Promise<void> {
  if (!announcesBody(request.headers)) return;
  const length = contentLengthOf(request.headers);
  if (length !== null && length > NO_BODY_BYTES_MAX) throw invalid("", NOT_TAKEN);
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of partsOf(request, body)) {
    bytes += part.byteLength;
    if (bytes > NO_BODY_BYTES_MAX) throw invalid("", NOT_TAKEN);
    body.admit(part.byteLength);
    parts.push(part);
  }
  const text = Buffer.concat(parts).toString("utf8").trim();
  const members = text === "" ? [] : membersOf(text);
  if (members === null) throw invalid("", NOT_TAKEN);
  if (members.length === 0) return;
  const errors = members
    .slice(0, ERRORS_MAX)
    .map((name) => ({ pointer: pointerTo("", name), message: NOT_TAKEN }));
  throw refusedFor("INVALID_REQUEST", errors);
}

/** The names of an object's members; null when the text is no JSON object. */
function membersOf(text: string): readonly string[] | null {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? Object.keys(value) : null;
  } catch {
    return null;
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
