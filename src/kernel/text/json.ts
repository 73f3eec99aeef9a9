/** JSON as it travels in events, requests and responses. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
/** A JSON object: what an event's data and metadata are. */
export type JsonObject = { readonly [key: string]: Json };

/**
 * Canonical JSON (RFC 8785): keys sorted by UTF-16 code units, no white space, numbers and strings as
 * ECMAScript serialises them. Two requests that say the same have the same canonical bytes.
 * `undefined` members are left out, as `JSON.stringify` does.
 */
export function canonicalJson(value: Json | undefined): string {
  if (typeof value === "string") return JSON.stringify(value);
  // A number that is too large for one is read as infinite, and must not look like null.
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (value === null || typeof value !== "object") return JSON.stringify(value ?? null);
  return Array.isArray(value) ? canonicalItems(value) : canonicalMembers(value as JsonObject);
}

function canonicalItems(items: readonly Json[]): string {
  let text = "";
  for (const item of items) text += (text === "" ? "" : ",") + canonicalJson(item);
  return `[${text}]`;
}

function canonicalMembers(object: JsonObject): string {
  let text = "";
  for (const key of Object.keys(object).sort()) {
    const member = object[key];
    if (member === undefined) continue;
    text += `${text === "" ? "" : ","}${canonicalName(key)}:${canonicalJson(member)}`;
  }
  return `{${text}}`;
}

/** What needs no escape costs less without a look for one. */
const PLAIN_NAME = /^\w+$/;

function canonicalName(key: string): string {
  return PLAIN_NAME.test(key) ? `"${key}"` : JSON.stringify(key);
}
