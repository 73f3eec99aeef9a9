import { nextTurn } from "../../kernel/concurrency/sleep.ts";
import { JsonScanner } from "../../kernel/text/jsonScanner.ts";
import type { ContentCheck } from "./allowedFormats.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: text must not contain these.
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/;

/** Deeper nesting is of no use, and is expensive for our parser and the recipient's. */
const JSON_DEPTH_MAX = 1_000;
/** How many characters to scan before yielding to the event loop, which takes some milliseconds. */
const TURN_CHARS = 256 * 1_024;

const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * The text of a file that must be UTF-8 without control characters other than TAB, CR and LF; null if it is not.
 * A byte order mark is allowed, because spreadsheets need it, and left out.
 */
export function textOf(bytes: Uint8Array): string | null {
  try {
    const text = decoder.decode(bytes);
    return CONTROL.test(text) ? null : text;
  } catch {
    return null;
  }
}

/** What is wrong with a text for its format, as the end of a sentence; null if nothing is. */
export async function inspectText(text: string, check: ContentCheck): Promise<string | null> {
  switch (check) {
    case "json":
      return jsonFault(text);
    case "xml":
      return xmlFault(text);
    case "calendar":
      return envelopeFault(text, "VCALENDAR");
    case "contact":
      return envelopeFault(text, "VCARD");
    default:
      return null;
  }
}

/** What is wrong with a text that should be JSON, as the end of a sentence; null if nothing is. */
export async function jsonFault(text: string): Promise<string | null> {
  const scanner = new JsonScanner(text, JSON_DEPTH_MAX);
  while (scanner.goOn(TURN_CHARS)) await nextTurn();
  if (scanner.isTooDeep) return `is nested more than ${JSON_DEPTH_MAX} levels deep`;
  return scanner.isWhole ? null : "is not valid JSON";
}

/** Component names are case-insensitive (RFC 5545 §2, RFC 6350 §3.3). */
function envelopeFault(text: string, component: string): string | null {
  const begins = text.slice(0, component.length + 7).toUpperCase();
  const ends = text
    .trimEnd()
    .slice(-component.length - 5)
    .toUpperCase();
  const isWhole = new RegExp(`^BEGIN:${component}\\s`).test(begins) && ends === `\nEND:${component}`;
  return isWhole ? null : `must go from BEGIN:${component} to END:${component}`;
}

/** The name of the first element, after white space, comments and processing instructions; null if there is none. */
async function rootElement(text: string): Promise<string | null> {
  let at = 0;
  let turnAt = TURN_CHARS;
  for (;;) {
    at = afterWhiteSpace(text, at);
    if (at >= turnAt) {
      await nextTurn();
      turnAt = at + TURN_CHARS;
    }
    const isComment = text.startsWith("<!--", at);
    if (!isComment && !text.startsWith("<?", at)) break;
    const end = text.indexOf(isComment ? "-->" : "?>", at);
    if (end < 0) return null;
    at = end;
    at += isComment ? 3 : 2;
  }
  return /^<([A-Za-z_][^\s/>]*)/.exec(text.slice(at, at + ELEMENT_NAME_CHARS_MAX))?.[1] ?? null;
}

/** Where the white space that may stand at `from` ends. One match passes megabytes of it in a millisecond. */
function afterWhiteSpace(text: string, from: number): number {
  WHITE.lastIndex = from;
  WHITE.test(text);
  return WHITE.lastIndex;
}

const WHITE = /\s*/y;

const ELEMENT_NAME_CHARS_MAX = 1_000;
export const XML_ENCODING = /^<\?xml\s[^>]*?\bencoding\s*=\s*["']([^"']*)["']/;

/**
 * Whether XML is well-formed is for the recipient to judge. We refuse a DOCTYPE, so there are no entities; a declared
 * other encoding, in which the bytes could mean something else; and html or svg under another name.
 */
async function xmlFault(text: string): Promise<string | null> {
  if (/<!(?:DOCTYPE|ENTITY)/i.test(text)) return "must not hold a DOCTYPE";
  await nextTurn();
  const encoding = XML_ENCODING.exec(text)?.[1];
  if (encoding !== undefined && !/^(?:utf-8|us-ascii)$/i.test(encoding)) return "must be in UTF-8 and say so";
  const root = await rootElement(text);
  if (root === null) return "is not XML";
  const name = root.slice(root.indexOf(":") + 1).toLowerCase();
  return name === "html" || name === "svg" ? `must not be ${name}` : null;
}
