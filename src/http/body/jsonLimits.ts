import { isObject, type Json, type JsonObject } from "../../kernel/text/json.ts";
import { invalid } from "../server/problem.ts";

/** The deepest nesting of a request; the top-level object is level 1. */
const DEPTH_MAX = 32;
/** Deeper nesting is refused before parsing: `JSON.parse` would go five million levels down. */
const PARSED_DEPTH_MAX = 1_000;
/** Half of this fits into `variables`; walking millions of values would delay everybody else. */
const VALUES_MAX = 100_000;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;

/**
 * The index of the quote that ends the string starting at `start`. Uses native search, because files are long. If
 * that finds a quote that may be escaped, it goes byte by byte: millions of searches would take longer.
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
 * Refuses bytes that would take long to parse as JSON: nested too deep, or more values than any request needs. Brackets
 * and commas inside strings do not count.
 */
export function requireBoundedShape(bytes: Uint8Array): void {
  let depth = 0;
  let values = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index] as number;
    if (byte === QUOTE) index = stringEnd(bytes, index);
    else if (byte === COMMA) values += 1;
    // `[` and `{` differ in one bit, and so do `]` and `}`.
    else if ((byte | 0x20) === 0x7b) depth += 1;
    else if ((byte | 0x20) === 0x7d) depth -= 1;
    if (depth > PARSED_DEPTH_MAX) throw invalid("", `is nested deeper than ${DEPTH_MAX} levels`);
    if (values > VALUES_MAX) throw invalid("", `holds more than ${VALUES_MAX} values`);
  }
}

/** The JSON Pointer (RFC 6901) to a member or item of the value at `parent`. */
export function pointerTo(parent: string, key: string | number): string {
  return `${parent}/${String(key).toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** What is wrong with a value, and the keys that lead to it, innermost first. */
interface ValueFault {
  readonly message: string;
  readonly path: (string | number)[];
}

/** Refuses values that are valid JSON but cannot be stored or compared faithfully. */
export function checkValue(value: Json): void {
  const fault = valueFault(value, 1);
  if (fault !== null) throw invalid(fault.path.reduceRight<string>(pointerTo, ""), fault.message);
}

/** As {@link checkValue}, for an object of which we read these members only: the others may hold anything. */
export function checkMembers(names: readonly string[]): (value: Json) => void {
  const read = new Set(names);
  return (value) => {
    if (!isObject(value)) return;
    checkValue(Object.fromEntries(Object.entries(value).filter(([name]) => read.has(name))) as JsonObject);
  };
}

function valueFault(value: Json, depth: number): ValueFault | null {
  if (typeof value === "string") return value.isWellFormed() ? null : fault("contains a lone surrogate");
  if (typeof value === "number") return numberFault(value);
  if (value === null || typeof value !== "object") return null;
  if (depth > DEPTH_MAX) return fault(`is nested deeper than ${DEPTH_MAX} levels`);
  return Array.isArray(value) ? itemFault(value, depth) : memberFault(value as JsonObject, depth);
}

function itemFault(items: readonly Json[], depth: number): ValueFault | null {
  for (const [index, item] of items.entries()) {
    const found = valueFault(item, depth + 1);
    if (found !== null) return within(index, found);
  }
  return null;
}

function memberFault(value: JsonObject, depth: number): ValueFault | null {
  keepPrintable(value);
  for (const [name, member] of Object.entries(value)) {
    const found = name.isWellFormed()
      ? valueFault(member, depth + 1)
      : fault("has a name with a lone surrogate");
    if (found !== null) return within(name, found);
  }
  return null;
}

/** Builds the path on the way back up: names can be long, and every value below would otherwise carry them. */
function within(key: string | number, found: ValueFault): ValueFault {
  found.path.push(key);
  return found;
}

function fault(message: string): ValueFault {
  return { message, path: [] };
}

function numberFault(value: number): ValueFault | null {
  if (!Number.isFinite(value)) return fault("is a number that is too large");
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return null;
  return fault("is an integer outside the range that is exact (up to 2^53 - 1)");
}

/** A template may print an object, which throws if a member named toString hides the method. */
function keepPrintable(value: object): void {
  if (!Object.hasOwn(value, "toString")) return;
  Object.defineProperty(value, Symbol.toPrimitive, { value: () => "an object" });
}
