import { domainToUnicode } from "node:url";

/** A shorter text is left alone where it stands among others: it would be found in every word. */
const SHORT_CHARACTERS = 4;
const QUOTE = `(?:["']|%22|&quot;|&#34;)`;
/** Long enough for a word in Base64 not to be taken for one. */
const ENCODED = /[A-Za-z0-9+/_-]{24,}={0,2}/g;
/** What stands between addresses. */
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

function patternOf(text: string): string {
  const escaped = text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return text.length < SHORT_CHARACTERS ? `(?<=${QUOTE})${escaped}(?=\\\\?${QUOTE})` : escaped;
}

/** Replaces every one of `texts` by `name`, in any of the forms in which it may come back, and in any case. */
export function withoutTexts(text: string, texts: readonly string[], name: string): string {
  const forms = texts.filter((one) => one !== "").flatMap(formsOf);
  if (forms.length === 0) return text;
  // The longest first: one may be a part of another.
  const patterns = [...new Set(forms)].sort((a, b) => b.length - a.length).map(patternOf);
  return text.replace(new RegExp(patterns.join("|"), "gi"), name);
}

/** Replaces what in Base64 holds an address or one of `texts`. */
export function withoutEncoded(text: string, texts: readonly string[], name: string): string {
  return text.replace(ENCODED, (word) => {
    const plain = Buffer.from(word, "base64").toString("utf8");
    return withoutAddresses(withoutTexts(plain, texts, name), name) === plain ? word : name;
  });
}
