/** A JSON value in events, requests and responses. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
/** A JSON object, such as an event's data or metadata. */
export type JsonObject = { readonly [key: string]: Json };

/** Parses JSON; undefined for malformed text. Throws nothing, because the parser's message would quote its input. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a value is an object of JSON: neither a list nor null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Canonical JSON (RFC 8785): keys sorted by UTF-16 code units, no white space, numbers and strings as ECMAScript
 * serialises them. Two requests that mean the same have the same canonical bytes. Leaves out `undefined` members, as
 * `JSON.stringify` does.
 */
export function canonicalJson(value: Json | undefined): string {
  try {
    // One call for the whole value costs half as much as one for each name and value.
    return JSON.stringify(inCanonicalOrder(value ?? null));
  } catch (error) {
    if (error !== CANNOT_ORDER) throw error;
    return canonicalText(value);
  }
}

/** Thrown for values that a copy in canonical order cannot represent. */
const CANNOT_ORDER = new Error("an object does not keep these members in canonical order");
const DIGIT_0 = 48;
const DIGIT_9 = 57;

/** A copy whose members are in canonical order, which `JSON.stringify` keeps. */
function inCanonicalOrder(value: Json): Json {
  // JSON.stringify would write it as null, from which it must differ.
  if (typeof value === "number" && !Number.isFinite(value)) throw CANNOT_ORDER;
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((item) => inCanonicalOrder(item));
  const object = value as JsonObject;
  const ordered: Record<string, Json> = {};
  for (const key of Object.keys(object).sort()) {
    const first = key.charCodeAt(0);
    // Objects put whole numbers first, and `__proto__` sets the prototype.
    if ((first >= DIGIT_0 && first <= DIGIT_9) || key === "__proto__") throw CANNOT_ORDER;
    ordered[key] = inCanonicalOrder(object[key] as Json);
  }
  return ordered;
}

/** Canonical JSON of any value, written piece by piece. */
function canonicalText(value: Json | undefined): string {
  if (typeof value === "string") return JSON.stringify(value);
  // A number too large for JavaScript is parsed as infinite, and must not look like null.
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (value === null || typeof value !== "object") return JSON.stringify(value ?? null);
  return Array.isArray(value) ? canonicalItems(value) : canonicalMembers(value as JsonObject);
}

function canonicalItems(items: readonly Json[]): string {
  let text = "";
  for (const item of items) text += (text === "" ? "" : ",") + canonicalText(item);
  return `[${text}]`;
}

function canonicalMembers(object: JsonObject): string {
  let text = "";
  for (const key of Object.keys(object).sort()) {
    const member = object[key];
    if (member === undefined) continue;
    text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${canonicalText(member)}`;
  }
  return `{${text}}`;
}
