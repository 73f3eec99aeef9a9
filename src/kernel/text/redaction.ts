import { domainToUnicode } from "node:url";
import { unicodeEscape } from "./invisibleCharacters.ts";

/** A shorter text is not replaced inside a longer one, because it would be found in every word. */
const SHORT_CHARACTERS = 4;
/** Quotes in the forms in which they may come back, in capitals. */
const QUOTED_FROM = /(?:["']|%22|&QUOT;|&#34;)$/;
const QUOTED_TO = /^\\?(?:["']|%22|&QUOT;|&#34;)/;
const QUOTE_UNITS_MAX = "&QUOT;".length;
/** Separates words that are searched together; hardly any text contains it. */
const BETWEEN_WORDS = "\n";
/** Base64 long enough not to be an ordinary word. */
const ENCODED = /[A-Za-z0-9+/_-]{24,}={0,2}/g;
/** A run without the characters that separate addresses. */
const WORD = /[^\s<>"'(),:;[\]\\]+/g;
/** The @ as JSON and HTML may escape it; in a URL it is %40. */
const ESCAPED_AT = /\\u0040|&#64;/gi;
const AT = /.(?:@|%40)./i;

/** An address in the forms in which a relay may quote it: as sent, and with the domain in its own script (RFC 5891). */
export function addressForms(address: string): readonly string[] {
  const at = address.lastIndexOf("@") + 1;
  const unicode = address.slice(0, at) + domainToUnicode(address.slice(at));
  return unicode === address || unicode.endsWith("@") ? [address] : [address, unicode];
}

/** The text with every escaped @ as the character itself. */
export function withPlainAt(text: string): string {
  return text.replace(ESCAPED_AT, "@");
}

/** Replaces all addresses with `name`. */
export function withoutAddresses(text: string, name: string): string {
  // Word by word, because an expression for a whole address would scan a long word once for each of its characters.
  return withPlainAt(text).replace(WORD, (word) => (AT.test(word) ? name : word));
}

function asciiJson(text: string): string {
  return JSON.stringify(text)
    .slice(1, -1)
    .replace(/[\u0080-\uffff]/g, unicodeEscape);
}

/** The forms in which a text may come back: as sent, or escaped for JSON, a URL, a form, or HTML. */
function formsOf(text: string): readonly string[] {
  const url = encodeURIComponent(text.toWellFormed());
  const form = new URLSearchParams([["", text]]).toString().slice("=".length);
  const html = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const forms = [
    text,
    JSON.stringify(text).slice(1, -1),
    asciiJson(text),
    url,
    form,
    form.replaceAll("+", "%20"),
  ];
  return [...new Set([...forms, html, html.replaceAll('"', "&quot;")])];
}

/** The text in capitals with its length unchanged, so that texts that differ only in case become equal. */
function caseless(text: string): string {
  const upper = text.toUpperCase();
  if (upper.length === text.length) return upper;
  // Letters without a single capital stay unchanged.
  return text.replace(/[\s\S]/gu, (letter) => {
    const capital = letter.toUpperCase();
    return capital.length === letter.length ? capital : letter;
  });
}

/** Every run of one to four units in the text. */
function runsOf(text: string): ReadonlySet<string> {
  const runs = new Set<string>();
  for (let at = 0; at < text.length; at += 1) {
    for (let units = 1; units <= SHORT_CHARACTERS; units += 1) runs.add(text.slice(at, at + units));
  }
  return runs;
}

function isQuoted(text: string, start: number, end: number): boolean {
  return (
    QUOTED_FROM.test(text.slice(Math.max(0, start - QUOTE_UNITS_MAX), start)) &&
    QUOTED_TO.test(text.slice(end, end + 1 + QUOTE_UNITS_MAX))
  );
}

/**
 * Marks the units of `text` where one of `texts` occurs, in any form in which it may come back, and in any case.
 * Strangers choose both `text` and `texts`, so we search for each form separately: a single expression would try every
 * form at every place. Forms whose first characters do not occur in the text are skipped at once.
 */
function marksOf(text: string, texts: readonly string[]): Uint8Array {
  const marks = new Uint8Array(text.length);
  const plain = caseless(text);
  const runs = runsOf(plain);
  for (const form of new Set(
    texts
      .filter((one) => one !== "")
      .flatMap(formsOf)
      .map(caseless),
  )) {
    if (!runs.has(form.slice(0, SHORT_CHARACTERS))) continue;
    for (let at = plain.indexOf(form); at >= 0; at = plain.indexOf(form, at + form.length)) {
      const end = at + form.length;
      if (form.length >= SHORT_CHARACTERS || isQuoted(plain, at, end)) marks.fill(1, at, end);
    }
  }
  return marks;
}

/** Replaces each marked part of the text. */
function withoutMarked(text: string, marks: Uint8Array, name: string): string {
  let kept = "";
  for (let at = 0; at < text.length; ) {
    const start = marks.indexOf(1, at);
    if (start < 0) return kept + text.slice(at);
    const end = marks.indexOf(0, start);
    kept += text.slice(at, start) + name;
    at = end < 0 ? text.length : end;
  }
  return kept;
}

/** Replaces each of `texts` with `name`, in any form in which it may come back, and in any case. */
export function withoutTexts(text: string, texts: readonly string[], name: string): string {
  return texts.length === 0 ? text : withoutMarked(text, marksOf(text, texts), name);
}

/** Replaces Base64 that contains an address or one of `texts`. */
export function withoutEncoded(text: string, texts: readonly string[], name: string): string {
  const words = (text.match(ENCODED) ?? []).map((word) => Buffer.from(word, "base64").toString("utf8"));
  // Search all words at once, because the cost of each search grows with the number of texts.
  const marks = marksOf(words.join(BETWEEN_WORDS), texts);
  let start = 0;
  const isNamed = words.map((word) => {
    const end = start + word.length;
    const isMarked = marks.subarray(start, end).includes(1);
    start = end + BETWEEN_WORDS.length;
    return isMarked || withoutAddresses(word, name) !== word;
  });
  let nth = -1;
  return text.replace(ENCODED, (word) => {
    nth += 1;
    return isNamed[nth] ? name : word;
  });
}
