import type { Json, JsonObject } from "../kernel/json.ts";
import { invalid, Problem } from "./problem.ts";

/** The longest encoded request, in bytes on the wire (spec: Limits); the limit itself is accepted. */
export const BODY_BYTES_MAX = 16_000_000;
/** The deepest nesting of a request; the top-level object is level 1. */
const DEPTH_MAX = 32;
/** Deeper than this is refused before it is parsed: `JSON.parse` would go five million levels down. */
const PARSED_DEPTH_MAX = 1_000;

/** `variables` has room for half as many; millions would hold up everybody else while they are walked. */
const VALUES_MAX = 100_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;

function tooLarge(): Problem {
  return new Problem("PAYLOAD_TOO_LARGE", { detail: `the body is over ${BODY_BYTES_MAX} bytes` });
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

async function readBytes(request: Request): Promise<Uint8Array> {
  const length = request.headers.get("content-length");
  if (length !== null) {
    if (Number(length) > BODY_BYTES_MAX) throw tooLarge();
    return new Uint8Array(await request.arrayBuffer());
  }
  // Without a length the bytes are counted while they come, so that the bound holds for chunked bodies too.
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > BODY_BYTES_MAX) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The index of the quote that ends the string which begins at `start`. */
function stringEnd(bytes: Uint8Array, start: number): number {
  let index = start + 1;
  while (index < bytes.length && bytes[index] !== QUOTE) index += bytes[index] === BACKSLASH ? 2 : 1;
  return index;
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

function pointerTo(parent: string, key: string | number): string {
  return `${parent}/${String(key).toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** Refuses what JSON lets pass and nobody can store or compare faithfully. */
function checkValue(value: Json, pointer: string, depth: number): void {
  if (typeof value === "string") {
    if (!value.isWellFormed()) throw invalid(pointer, "contains a lone surrogate");
  } else if (typeof value === "number") {
    if (!Number.isFinite(value)) throw invalid(pointer, "is a number that is too large");
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
      throw invalid(pointer, "is an integer outside the range that is exact (up to 2^53 - 1)");
    }
  } else if (value !== null && typeof value === "object") {
    checkMembers(value as JsonObject | readonly Json[], pointer, depth);
  }
}

/** Elysia writes a wrong value into a text, which throws where a member named toString hides the method. */
function keepPrintable(value: object): void {
  if (!Object.hasOwn(value, "toString")) return;
  Object.defineProperty(value, Symbol.toPrimitive, { value: () => "an object" });
}

function checkMembers(value: JsonObject | readonly Json[], pointer: string, depth: number): void {
  if (depth > DEPTH_MAX) throw invalid(pointer, `is nested deeper than ${DEPTH_MAX} levels`);
  if (Array.isArray(value)) {
    value.forEach((item, index) => {
      checkValue(
        item,
        typeof item === "object" ? pointerTo(pointer, index) : `${pointer}/${index}`,
        depth + 1,
      );
    });
    return;
  }
  keepPrintable(value);
  for (const [key, member] of Object.entries(value)) {
    const at = pointerTo(pointer, key);
    if (!key.isWellFormed()) throw invalid(at, "has a name with a lone surrogate");
    checkValue(member as Json, at, depth + 1);
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The JSON body of a request, within every bound and with nothing in it that would be stored otherwise than sent. */
export async function readJsonBody(request: Request): Promise<Json> {
  const bytes = await readBytes(request);
  if (bytes.length === 0) throw invalid("", "is empty");
  const fault = shapeFault(bytes);
  if (fault !== null) throw invalid("", fault);
  let value: Json;
  try {
    value = JSON.parse(utf8.decode(bytes)) as Json;
  } catch (error) {
    throw invalid("", error instanceof SyntaxError ? "is not JSON" : "is not UTF-8");
  }
  checkValue(value, "", 1);
  return value;
}
