import { encodeWord } from "nodemailer/lib/mime-funcs";
import type MimeNode from "nodemailer/lib/mime-node";

/** A word this long still fits a header line with the name, in at most 78 characters (RFC 5322 §2.1.1). */
const WORD_CHARS_MAX = 60;
/** The limit that nodemailer uses for its own encoded-words, which then fit a line of 76. */
export const ENCODED_CHARS_MAX = 52;

/**
 * Whether receivers would change plain ASCII: because it looks like an encoded-word, which they decode (RFC 2047), has
 * spaces that they trim or join, or cannot be folded. nodemailer encodes everything that is not ASCII.
 */
function needsEncoding(text: string): boolean {
  // An encoded-word must not be empty (RFC 2047 §2).
  if (text === "" || !/^[\t\x20-\x7e]*$/.test(text)) return false;
  const words = text.split(" ");
  return text.includes("=?") || words.some((word) => word === "" || isUnfit(word));
}

function isUnfit(word: string): boolean {
  return word.length > WORD_CHARS_MAX || word.includes("\t");
}

/** A text for an unstructured header, such as the subject. nodemailer passes valid encoded-words on. */
export function encodedWords(text: string): string {
  return needsEncoding(text) ? encodeWord(text, "Q", ENCODED_CHARS_MAX) : text;
}

/** Writes a display name that receivers would change as encoded-words before the address. */
export function encodeName(root: MimeNode, header: "From" | "To" | "Reply-To", name: string): void {
  if (!needsEncoding(name)) return;
  const placeholder = "name";
  replaceHeader(root, header, (mailbox, write) => {
    // Written with a name that needs neither quotes nor encoding, so that the address has its angle brackets.
    const written = write({ ...(mailbox as object), name: placeholder });
    return `${encodeWord(name, "Q", ENCODED_CHARS_MAX)}${written.slice(placeholder.length)}`;
  });
}

/** A value that fits a parameter unencoded, on one line with its name. Encoded-words are not allowed (RFC 2047 §5). */
const PLAIN_NAME = /^(?!.*=\?)[ !#-[\]-~]{0,60}$/;

/**
 * Omits `name` from a part's type if it would have to be encoded, because receivers could decode it to something other
 * than `filename`. That is the standard parameter (RFC 2183 §2.3, RFC 2231) and always survives.
 */
export function dropUnfitName(part: MimeNode): void {
  if (!part.filename || PLAIN_NAME.test(part.filename)) return;
  // The written header has the type and the name, the value set here only the type.
  replaceHeader(part, "Content-Type", (_, write) => write(part.getHeader("Content-Type")));
}

type Write = MimeNode["encodeHeaderValue"];
type HeaderValue = Parameters<Write>[1];

/** Makes a node write one of its headers differently. */
function replaceHeader(
  node: MimeNode,
  header: string,
  value: (given: HeaderValue, write: (value: HeaderValue) => string) => string,
): void {
  const write: Write = node.encodeHeaderValue.bind(node);
  node.encodeHeaderValue = (key, given) =>
    key === header ? value(given, (other) => write(key, other)) : write(key, given);
}
