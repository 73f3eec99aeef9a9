import { encodeWord } from "nodemailer/lib/mime-funcs";
import type MimeNode from "nodemailer/lib/mime-node";

/** With its name it fits a header line, which should have at most 78 characters (RFC 5322 §2.1.1). */
const WORD_CHARS_MAX = 60;
/** What nodemailer makes its own encoded-words with: they fit a line of 76. */
export const ENCODED_CHARS_MAX = 52;

/**
 * Whether plain ASCII would not come back as it was sent: it looks like an encoded-word, which receivers
 * decode (RFC 2047), or has spaces where they trim or join them, or nowhere to fold it. nodemailer encodes all
 * that is not ASCII.
 */
function needsEncoding(text: string): boolean {
  // An encoded-word of nothing is none (RFC 2047 §2).
  if (text === "" || !/^[\t\x20-\x7e]*$/.test(text)) return false;
  const words = text.split(" ");
  return text.includes("=?") || words.some((word) => word === "" || isUnfit(word));
}

function isUnfit(word: string): boolean {
  return word.length > WORD_CHARS_MAX || word.includes("\t");
}

/** A text for a header without structure, such as the subject. nodemailer passes valid encoded-words on. */
export function encodedWords(text: string): string {
  return needsEncoding(text) ? encodeWord(text, "Q", ENCODED_CHARS_MAX) : text;
}

/** Sets an address header with a display name that would not come back, as encoded-words before the address. */
export function encodeName(root: MimeNode, header: "From" | "To" | "Reply-To", name: string): void {
  if (!needsEncoding(name)) return;
  const placeholder = "name";
  replaceHeader(root, header, (mailbox, write) => {
    // Written for a name that needs neither quotes nor encoding, so the address is in its angle brackets.
    const written = write({ ...(mailbox as object), name: placeholder });
    return `${encodeWord(name, "Q", ENCODED_CHARS_MAX)}${written.slice(placeholder.length)}`;
  });
}

/** What can stand in a parameter as it is, on one line with its name: no encoded-word may (RFC 2047 §5). */
const PLAIN_NAME = /^(?!.*=\?)[ !#-[\]-~]{0,60}$/;

/**
 * Leaves a part's `name` out of its type where it would have to be encoded: receivers could decode it to another
 * one than `filename`, which is the standard's parameter (RFC 2183 §2.3, RFC 2231) and always comes back.
 */
export function dropUnfitName(part: MimeNode): void {
  if (!part.filename || PLAIN_NAME.test(part.filename)) return;
  // What is written is the type followed by the name; what was set is the type alone.
  replaceHeader(part, "Content-Type", (_, write) => write(part.getHeader("Content-Type")));
}

type Write = MimeNode["encodeHeaderValue"];
type HeaderValue = Parameters<Write>[1];

/** Has a node write one of its headers otherwise. */
function replaceHeader(
  node: MimeNode,
  header: string,
  value: (given: HeaderValue, write: (value: HeaderValue) => string) => string,
): void {
  const write: Write = node.encodeHeaderValue.bind(node);
  node.encodeHeaderValue = (key, given) =>
    key === header ? value(given, (other) => write(key, other)) : write(key, given);
}
