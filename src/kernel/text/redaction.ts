import { domainToUnicode } from "node:url";

/** A shorter text is left alone inside a longer one: it would be found in every word. */
const SHORT_CHARACTERS = 4;
/** Quotes as they may come back, in capitals. */
const QUOTED_FROM = /(?:["']|%22|&QUOT;|&#34;)$/;
const QUOTED_TO = /^\\?(?:["']|%22|&QUOT;|&#34;)/;
const QUOTE_UNITS_MAX = "&QUOT;".length;
/** Stands between words that are looked through together; hardly any text has one. */
const BETWEEN_WORDS = "\n";
/** Long enough for a word in Base64 not to be taken for one. */
const ENCODED = /[A-Za-z0-9+/_-]{24,}={0,2}/g;
/** What separates addresses. */
const WORD = /[^\s<>"'(),:;[\]\\]+/g;
/** The @ as JSON and HTML may escape it; in a URL it is %40. */
const ESCAPED_AT = /\\u0040|&#64;/gi;
const AT = /.(?:@|%40)./i;

/** An address as a relay may repeat it: as it was sent, and with the domain in its own script (RFC 5891). */
export function addressForms(address: string): readonly string[] {
  const at = address.lastIndexOf("@") + 1;
  const unicode = address.slice(0, at) + domainToUnicode(address.slice(at));
  return unicode === address || unicode.endsWith("@") ? [address] : [address, unicode];
}

/** Replaces all addresses, whoever's they are. */
export function withoutAddresses(text: string, name: string): string {
  // Word by word: an expression for a whole address would go over a long word once for each of its characters.
  return text.replace(ESCAPED_AT, "@").replace(WORD, (word) => (AT.test(word) ? name : word));
}

function asciiJson(text: string): string {
  return JSON.stringify(text)
    .slice(1, -1)
    .replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A text as it may come back: as it was sent, escaped for JSON, a URL, a form, or HTML. */
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

/** The text in one case, with as many units as before: what differs in case alone becomes the same. */
function caseless(text: string): string {
  const upper = text.toUpperCase();
  if (upper.length === text.length) return upper;
  // Some letters have no single capital: they stay as they are.
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
 * Marks the units of `text` where one of `texts` stands, in any of the forms in which it may come back, and in any case.
 * Text and texts are both as a stranger likes, so each form is sought by itself: one expression of all forms tries every
 * one of them in every place. What does not even begin as something in the text is passed over at once.
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

/** Replaces every one of `texts` by `name`, in any of the forms in which it may come back, and in any case. */
export function withoutTexts(text: string, texts: readonly string[], name: string): string {
  return texts.length === 0 ? text : withoutMarked(text, marksOf(text, texts), name);
}

/** Replaces what in Base64 holds an address or one of `texts`. */
export function withoutEncoded(text: string, texts: readonly string[], name: string): string {
  const words = (text.match(ENCODED) ?? []).map((word) => Buffer.from(word, "base64").toString("utf8"));
  // All words are looked through at once, because each look costs as much as there are texts.
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
