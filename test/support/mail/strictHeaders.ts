/** The faults of a header field, in words; empty if there are none. */
type Faults = string[];

/** RFC 2047 §2. */
const ENCODED_WORD_CHARS_MAX = 75;
/** RFC 2045 §5.1: what a token is made of. */
const TOKEN = "[!#$%&'*+\\-.0-9A-Z^_`a-z{|}~]+";
const ATOM = "[!#$%&'*+\\-/0-9=?A-Z^_`a-z{|}~\\u0080-\\u{10ffff}]+";
const DOT_ATOM = `${ATOM}(?:\\.${ATOM})*`;
const QUOTED = '"(?:[\\t !#-[\\]-~]|\\\\[\\t -~])*"';
const ADDRESS = new RegExp(`^${DOT_ATOM}@${DOT_ATOM}$`, "u");
const NAMED = /^(?<phrase>.*?) ?<(?<address>[^<>]*)>$/u;
/** RFC 5322 §3.3, without what is obsolete. */
const DATE =
  /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d{2}) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) (\d{4}) (\d{2}:\d{2}:\d{2}) ([+-]\d{4})$/;
const MESSAGE_ID = new RegExp(`^<${DOT_ATOM}@${DOT_ATOM}>$`, "u");
const ENCODED_WORD = /^=\?([A-Za-z0-9-]+)\?([BbQq])\?([!-~]*)\?=$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const Q_IN_TEXT = /^(?:[!-<>@-~]|=[0-9A-F]{2})*$/;
/** RFC 2047 §5 (3): within a phrase few characters may stand unencoded. */
const Q_IN_PHRASE = /^(?:[A-Za-z0-9!*+/_-]|=[0-9A-F]{2})*$/;

function decodeQ(text: string): Buffer {
  const plain = text.replaceAll("_", " ");
  return Buffer.from(
    plain.replace(/=(..)/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** RFC 2047: each encoded-word is complete, and not too long. */
function encodedWordFaults(word: string, context: "text" | "phrase"): Faults {
  const [, charset = "", encoding = "", text = ""] = ENCODED_WORD.exec(word) ?? [];
  if (charset === "") return [`not an encoded-word: ${word}`];
  const faults: Faults = [];
  const isBase64 = encoding.toUpperCase() === "B";
  if (word.length > ENCODED_WORD_CHARS_MAX) faults.push(`an encoded-word is too long: ${word}`);
  if (text === "") faults.push("an encoded-word is empty");
  if (charset.toLowerCase() !== "utf-8") faults.push(`an encoded-word in ${charset}`);
  const q = context === "phrase" ? Q_IN_PHRASE : Q_IN_TEXT;
  if (!(isBase64 ? BASE64 : q).test(text)) faults.push(`an encoded-word holds what it must not: ${word}`);
  else if (!isUtf8(isBase64 ? Buffer.from(text, "base64") : decodeQ(text)))
    faults.push(`an encoded-word ends inside a character: ${word}`);
  return faults;
}

/** A header without structure (RFC 5322 §3.2.5): plain text, and encoded-words between white space. */
export function textFaults(value: string): Faults {
  const faults = /^[\t -~\u0080-\u{10ffff}]*$/u.test(value) ? [] : ["a control character"];
  const words = value.split(/[\t ]+/).filter((word) => word.includes("=?"));
  return [...faults, ...words.flatMap((word) => encodedWordFaults(word, "text"))];
}

function phraseFaults(phrase: string): Faults {
  const words = phrase.match(new RegExp(`${QUOTED}|[^\\t "]+|"`, "gu")) ?? [];
  if (words.length === 0) return ["an empty name before an address"];
  return words.flatMap((word) => {
    if (word.startsWith('"')) {
      if (!new RegExp(`^${QUOTED}$`, "u").test(word)) return ["a quoted name does not end"];
      return word.includes("=?") ? ["an encoded-word in quotes"] : [];
    }
    if (word.includes("=?")) return encodedWordFaults(word, "phrase");
    return new RegExp(`^${ATOM}$`, "u").test(word) ? [] : [`a name needs quotes: ${word}`];
  });
}

/** One mailbox (RFC 5322 §3.4): we send from one address to one. */
export function mailboxFaults(value: string): Faults {
  const { phrase = "", address = value } = NAMED.exec(value)?.groups ?? {};
  const isBare = address === value || value === `<${address}>`;
  const faults = isBare ? [] : phraseFaults(phrase);
  return ADDRESS.test(address) ? faults : [...faults, `not an address: ${address}`];
}

export function dateFaults(value: string): Faults {
  const [, day = "", date = "", month = "", year = "", time = "", zone = ""] = DATE.exec(value) ?? [];
  if (day === "") return [`not a date: ${value}`];
  const at = new Date(`${date} ${month} ${year} ${time} +0000`);
  const isDay = at.getUTCDate() === Number(date) && at.toUTCString().startsWith(day);
  return isDay && zone === "+0000" ? [] : [`there is no such day, or not in UTC: ${value}`];
}

export function messageIdFaults(value: string): Faults {
  return MESSAGE_ID.test(value) ? [] : [`not a Message-ID: ${value}`];
}

/** The value of a header with parameters (RFC 2045 §5.1, RFC 2183 §2), and its parameters as they stand. */
export interface Parametrised {
  readonly value: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly faults: readonly string[];
}

function parameterFaults(name: string, value: string): Faults {
  if (name.endsWith("*")) {
    const text = /\*0\*$|^[^*]*\*$/.test(name) ? value.replace(/^utf-8''/i, "") : value;
    if (text === value && /\*0\*$|^[^*]*\*$/.test(name)) return [`${name} names no character set`];
    return /^(?:[!#$&+\-.0-9A-Z^_`a-z{|}~]|%[0-9A-F]{2})*$/.test(text) ? [] : [`${name} is not encoded`];
  }
  if (value.includes("=?")) return [`an encoded-word in the parameter ${name}`];
  if (value.startsWith('"'))
    return new RegExp(`^${QUOTED}$`, "u").test(value) ? [] : [`${name} is badly quoted`];
  return new RegExp(`^${TOKEN}$`).test(value) ? [] : [`${name} needs quotes`];
}

/** RFC 2231 §3: pieces are numbered from 0 without a gap, and make UTF-8 together. */
function pieceFaults(parameters: ReadonlyMap<string, string>): Faults {
  const names = [...parameters.keys()];
  const pieces = names.filter((name) => /\*\d+\*?$/.test(name));
  const numbers = pieces.map((name) => /\*(\d+)\*?$/.exec(name)?.[1]);
  if (numbers.some((number, index) => number !== String(index))) return ["pieces of a parameter have a gap"];
  const encoded = names.filter((name) => name.endsWith("*"));
  const bytes = encoded.map((name) => parameters.get(name)?.replace(/^utf-8''/i, "") ?? "").join("");
  const plain = bytes.replace(/%(..)/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return isUtf8(Buffer.from(plain, "latin1")) ? [] : ["a parameter is not UTF-8"];
}

export function parametrised(text: string, pattern: RegExp): Parametrised {
  const [value = "", rest = ""] = /^([^;]*)(.*)$/su.exec(text)?.slice(1) ?? [];
  const parameters = new Map<string, string>();
  const faults = pattern.test(value) ? [] : [`not a value: ${value}`];
  const PARAMETER = new RegExp(`; ?(${TOKEN})=(${QUOTED}|[^; "]*)`, "gu");
  if (rest.replace(PARAMETER, "") !== "") faults.push(`not a list of parameters: ${rest}`);
  for (const [, name = "", given = ""] of rest.matchAll(PARAMETER)) {
    if (parameters.has(name.toLowerCase())) faults.push(`${name} occurs twice`);
    parameters.set(name.toLowerCase(), given);
    faults.push(...parameterFaults(name, given));
  }
  return { value: value.toLowerCase(), parameters, faults: [...faults, ...pieceFaults(parameters)] };
}

export const TYPE = new RegExp(`^${TOKEN}/${TOKEN}$`);
export const DISPOSITION = new RegExp(`^${TOKEN}$`);
