import { encodeWord } from "nodemailer/lib/mime-funcs";
import type MimeNode from "nodemailer/lib/mime-node";
import { ENCODED_CHARS_MAX } from "./encodedWords.ts";

/** A part without blanks stays on one line, which may have 998 octets with the header's name (RFC 5322 §2.1.1). */
const UNBROKEN_CHARS_MAX = 900;
/** Avoids lines of only white space, at which readers think the headers end. */
const BLANKS_MAX = 40;

/**
 * Whether a value survives plain folded lines unchanged. Programs read many of these headers and not all decode
 * encoded-words, so we send values unencoded when possible.
 */
function isPlain(value: string): boolean {
  if (!/^[!-~](?:[ -~]*[!-~])?$/.test(value) || value.includes("=?")) return false;
  if (value.includes(" ".repeat(BLANKS_MAX))) return false;
  return value.split(" ").every((part) => part.length <= UNBROKEN_CHARS_MAX);
}

/** The caller's own headers by name in lower case. */
export type CallerHeaders = ReadonlyMap<string, { readonly name: string; readonly value: string }>;

export function callerHeadersOf(headers: Readonly<Record<string, string>> = {}): CallerHeaders {
  return new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), { name, value }]));
}

/** Makes the root write the caller's headers unchanged, or as encoded-words (RFC 2047) where necessary. */
export function encodeCallerHeaders(root: MimeNode, headers: CallerHeaders): void {
  if (headers.size === 0) return;
  const write = root.encodeHeaderValue.bind(root);
  root.encodeHeaderValue = (key, given) => {
    const value = headers.get(key.toLowerCase())?.value;
    if (value === undefined) return write(key, given);
    return isPlain(value) ? value : encodeWord(value, "Q", ENCODED_CHARS_MAX);
  };
}
