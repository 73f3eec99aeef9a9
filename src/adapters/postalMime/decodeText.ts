import { isUtf8 } from "node:buffer";

/** Names of ASCII, the charset of text that names none (RFC 2045 §5.2). What claims it and is not is in some other one. */
const ASCII: readonly string[] = ["us-ascii", "ascii", "ansi_x3.4-1968"];

/** Names in mail that the Encoding Standard lacks, without their separators, and the encoding that is meant. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    shift_jis: "cp932 windows932 ibm932 mskanji shiftjis",
    gbk: "cp936 ms936 windows936",
    "euc-kr": "cp949 ms949 uhc euckr",
    big5: "cp950 ms950 windows950",
    "windows-874": "cp874 tis620",
    "euc-jp": "eucjp cp51932",
    "iso-2022-jp": "iso2022jp iso2022jp1 iso2022jp2 cp50220 cp50221",
  }).flatMap(([encoding, names]) => names.split(" ").map((name) => [name, encoding] as const)),
);

/** Charsets whose text looks like ASCII, and is not. */
const LOOKS_LIKE_ASCII = /utf-?7|^hz/;
/** Other charsets switch between alphabets with some of these, or have them between the letters of ASCII. */
const CONTROLS = /[^\P{Cc}\t\n\f\r]/u;

const UTF_8 = new TextDecoder("utf-8", { fatal: true });
const WINDOWS_1252 = new TextDecoder("windows-1252");

/** By the names that the Encoding Standard has. */
const decoders = new Map<string, TextDecoder>();

/**
 * The text of bytes in a charset as mail names it, "" if it names none; null if they cannot be read as that. Text without
 * a charset, and text in an unknown one, is read as UTF-8 if it is valid UTF-8, because hardly anything else is.
 */
export function decodeText(bytes: Uint8Array, charset: string): string | null {
  const name = charset.trim().toLowerCase();
  if (name === "" || ASCII.includes(name)) return decoded(bytes, UTF_8) ?? WINDOWS_1252.decode(bytes);
  const decoder = decoderOf(name);
  if (decoder !== null) return decoded(bytes, decoder);
  if (LOOKS_LIKE_ASCII.test(name)) return null;
  const text = decoded(bytes, UTF_8);
  return text === null || CONTROLS.test(text) ? null : text;
}

/** The same text in UTF-8; of text that is none, all bytes are windows-1252. */
export function asUtf8(bytes: Uint8Array): Uint8Array {
  return isUtf8(bytes) ? bytes : new TextEncoder().encode(WINDOWS_1252.decode(bytes));
}

/** Whether the charset is one that we can read. */
export function isKnownCharset(charset: string): boolean {
  return decoderOf(charset.trim().toLowerCase()) !== null;
}

function decoderOf(name: string): TextDecoder | null {
  const bare = name.replace(/^(?:x-|cs)/, "").replace(/[\s._-]/g, "");
  for (const candidate of [name, bare, OTHER_NAMES.get(bare)]) {
    if (candidate === undefined) continue;
    const decoder = decoders.get(candidate) ?? newDecoder(candidate);
    if (decoder !== null) return decoder;
  }
  return null;
}

function newDecoder(name: string): TextDecoder | null {
  try {
    const decoder = new TextDecoder(name as Bun.Encoding, { fatal: true });
    decoders.set(name, decoder);
    return decoder;
  } catch {
    // A RangeError: the Encoding Standard has no such name.
    return null;
  }
}

function decoded(bytes: Uint8Array, decoder: TextDecoder): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    // A TypeError: the bytes are not valid.
    return null;
  }
}
