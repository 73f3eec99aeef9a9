import { encodeWord } from "nodemailer/lib/mime-funcs";
import type MimeNode from "nodemailer/lib/mime-node";
import { ENCODED_CHARS_MAX } from "./encodedWords.ts";

/** What has no blank in it stays on one line, which has 998 octets with the header's name (RFC 5322 §2.1.1). */
const UNBROKEN_CHARS_MAX = 900;
/** Of a line of white space alone readers think that the headers end there. */
const BLANKS_MAX = 40;

/**
 * Whether a value comes back as it is from plain folded lines. Programs read many of these headers, and not all of them
 * decode encoded-words: so what can stand there as it is does.
 */
function isPlain(value: string): boolean {
  if (!/^[!-~](?:[ -~]*[!-~])?$/.test(value) || value.includes("=?")) return false;
  if (value.includes(" ".repeat(BLANKS_MAX))) return false;
  return value.split(" ").every((part) => part.length <= UNBROKEN_CHARS_MAX);
}

/** Headers of the caller's own, each by its name in lower case. */
export type CallerHeaders = ReadonlyMap<string, { readonly name: string; readonly value: string }>;

export function callerHeadersOf(headers: Readonly<Record<string, string>> = {}): CallerHeaders {
  return new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), { name, value }]));
}

/** Has the root write the caller's headers as they are, or as encoded-words (RFC 2047) where they must be. */
export function encodeCallerHeaders(root: MimeNode, headers: CallerHeaders): void {
  if (headers.size === 0) return;
  const write = root.encodeHeaderValue.bind(root);
  root.encodeHeaderValue = (key, given) => {
    const value = headers.get(key.toLowerCase())?.value;
    if (value === undefined) return write(key, given);
    return isPlain(value) ? value : encodeWord(value, "Q", ENCODED_CHARS_MAX);
  };
}
