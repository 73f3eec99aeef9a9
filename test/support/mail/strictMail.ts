import {
  DISPOSITION,
  dateFaults,
  mailboxFaults,
  messageIdFaults,
  type Parametrised,
  parametrised,
  TYPE,
  textFaults,
} from "./strictHeaders.ts";

/** RFC 5322 §2.1.1, without CRLF. */
const LINE_CHARS_MAX = 998;
const LINE_CHARS_ADVISED = 78;
/** RFC 2047 §2: of a line with an encoded-word. */
const ENCODED_LINE_CHARS_MAX = 76;
/** RFC 2045 §6.7 and §6.8. */
const BODY_LINE_CHARS_MAX = 76;
/** RFC 2046 §5.1.1. */
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/;
const REQUIRED_HEADERS = ["from", "to", "date", "message-id", "mime-version", "subject"];

interface Field {
  readonly name: string;
  /** Unfolded (RFC 5322 §2.2.3). */
  readonly value: string;
}

interface Entity {
  readonly fields: readonly Field[];
  readonly body: string;
  readonly faults: readonly string[];
}

/** Headers of the caller, which programs may parse: words longer than a line are not encoded. */
const CALLER_HEADERS = /^(?:x-(?!postledger)|list-|references|in-reply-to)/;

function lineFaults(line: string, name: string): readonly string[] {
  const isFolded = /^[\t ]/.test(line);
  // An address cannot be folded, and may exceed the advised line length.
  const isBase64 = /@/.test(line) || CALLER_HEADERS.test(name);
  const canFold = !isBase64 || /\S[\t ]+\S/.test(isFolded ? line : line.replace(/^[^:]*: */, ""));
  const length = [...line].length;
  const isEncoded = /=\?[^?]*\?[bq]\?/i.test(line);
  return [
    ...(line.length > LINE_CHARS_MAX ? ["a header line is too long"] : []),
    ...(length > LINE_CHARS_ADVISED && canFold ? [`a header line should be folded: ${line}`] : []),
    ...(isEncoded && length > ENCODED_LINE_CHARS_MAX ? [`too long for its encoded-words: ${line}`] : []),
    ...(/^[\t ]*$/.test(line) ? ["a header line of white space alone"] : []),
  ];
}

/** The lines of headers, each with the name of its header in lower case. */
function namedLines(lines: string): readonly (readonly [name: string, line: string])[] {
  let name = "";
  return lines.split("\r\n").map((line) => {
    name = /^([!-9;-~]+):/.exec(line)?.[1]?.toLowerCase() ?? name;
    return [name, line] as const;
  });
}

function entityOf(source: string): Entity {
  const end = source.startsWith("\r\n") ? -2 : source.indexOf("\r\n\r\n");
  if (end === -1) return { fields: [], body: "", faults: ["headers do not end"] };
  const lines = source.slice(0, Math.max(end, 0));
  const unfolded = lines === "" ? [] : lines.replace(/\r\n(?=[\t ])/g, "").split("\r\n");
  const fields = unfolded.map((line) => {
    const [, name = "", value = ""] = /^([!-9;-~]+): ?(.*)$/su.exec(line) ?? [];
    return { name: name.toLowerCase(), value };
  });
  const names = fields.map(({ name }) => name);
  const faults = [
    ...(lines === "" ? [] : namedLines(lines).flatMap(([name, line]) => lineFaults(line, name))),
    ...(names.includes("") ? ["a header without a name"] : []),
    ...names.filter((name, index) => names.indexOf(name) !== index).map((name) => `${name} occurs twice`),
  ];
  return { fields, body: source.slice(end + 4), faults };
}

function headerOf({ fields }: Entity, name: string): string | undefined {
  return fields.find((field) => field.name === name)?.value;
}

const CHECKS: Readonly<Record<string, (value: string) => readonly string[]>> = {
  from: mailboxFaults,
  to: mailboxFaults,
  "reply-to": mailboxFaults,
  date: dateFaults,
  "message-id": messageIdFaults,
  "mime-version": (value) => (value === "1.0" ? [] : [`not the version of MIME: ${value}`]),
  "content-type": () => [],
  "content-disposition": (value) => parametrised(value, DISPOSITION).faults,
  "content-transfer-encoding": (value) =>
    /^(7bit|base64|quoted-printable)$/.test(value) ? [] : [`not an encoding that any relay takes: ${value}`],
};

function fieldFaults({ name, value }: Field): readonly string[] {
  return (CHECKS[name] ?? textFaults)(value).map((fault) => `${name}: ${fault}`);
}

function base64Faults(lines: readonly string[]): readonly string[] {
  const whole = lines.join("");
  const isBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(whole);
  return isBase64 ? [] : ["a body is not base64"];
}

function quotedFaults(lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) => [
    ...(/^(?:[\t !-<>-~]|=[0-9A-F]{2})*=?$/.test(line) ? [] : [`a line is not quoted-printable: ${line}`]),
    ...(/[\t ]$/.test(line) ? ["a quoted line ends with white space"] : []),
  ]);
}

function bodyFaults(entity: Entity, { value, parameters }: Parametrised): readonly string[] {
  const encoding = headerOf(entity, "content-transfer-encoding") ?? "7bit";
  const lines = entity.body.split("\r\n");
  const isLong = lines.some((line) => line.length > BODY_LINE_CHARS_MAX);
  const faults = encoding !== "7bit" && isLong ? ["an encoded line is too long"] : [];
  if (value.startsWith("text/") && !parameters.has("charset")) faults.push("a text without a character set");
  if (encoding === "base64") return [...faults, ...base64Faults(lines)];
  if (encoding === "quoted-printable") return [...faults, ...quotedFaults(lines)];
  return /[\0\u0080-\uffff]/.test(entity.body) ? [...faults, "a plain body is not plain ASCII"] : faults;
}

/** RFC 2046 §5.1.1: parts between boundaries, and nothing else. */
function partsFaults(entity: Entity, { parameters }: Parametrised): readonly string[] {
  const boundary = parameters.get("boundary")?.replace(/^"|"$/g, "") ?? "";
  if (!BOUNDARY.test(boundary)) return ["a multipart without a boundary"];
  const encoding = headerOf(entity, "content-transfer-encoding");
  const faults =
    encoding === undefined || encoding === "7bit" ? [] : [`a multipart must not be encoded: ${encoding}`];
  const [before = "", ...parts] = `\r\n${entity.body}`.split(`\r\n--${boundary}`);
  const end = parts.pop() ?? "";
  if (before !== "" || !/^--\r\n$/.test(end)) faults.push("a multipart begins or ends badly");
  if (parts.length === 0) faults.push("a multipart without parts");
  if (parts.some((part) => !part.startsWith("\r\n"))) faults.push("something behind a boundary");
  return [...faults, ...parts.flatMap((part) => entityFaults(entityOf(part.slice(2))))];
}

function entityFaults(entity: Entity): readonly string[] {
  const type = parametrised(headerOf(entity, "content-type") ?? "text/plain; charset=us-ascii", TYPE);
  const own = [
    ...entity.faults,
    ...type.faults.map((fault) => `content-type: ${fault}`),
    ...entity.fields.flatMap(fieldFaults),
  ];
  return [...own, ...(type.value.startsWith("multipart/") ? partsFaults : bodyFaults)(entity, type)];
}

/**
 * The faults of a whole message by RFC 5322, 2045, 2046, 2047, 2183 and 2231, within the subset that we use: one address
 * per header, UTF-8, UTC. Parses strictly. `allowsUtf8` is for mail that needs SMTPUTF8.
 */
export function mailFaults(bytes: Uint8Array, allowsUtf8 = false): readonly string[] {
  const source = Buffer.from(bytes).toString(allowsUtf8 ? "utf8" : "latin1");
  const root = entityOf(source);
  const names = root.fields.map(({ name }) => name);
  const header = source.slice(0, source.indexOf("\r\n\r\n"));
  return [
    ...(/\r(?!\n)|(?<!\r)\n/.test(source) ? ["a line end that is not CRLF"] : []),
    ...(source.endsWith("\r\n") ? [] : ["the last line does not end"]),
    ...(source.includes("\0") ? ["a NUL"] : []),
    ...(!allowsUtf8 && /[\u0080-\uffff]/.test(header) ? ["a header is not ASCII"] : []),
    ...(source.split("\r\n").some((line) => line.length > LINE_CHARS_MAX) ? ["a line is too long"] : []),
    ...REQUIRED_HEADERS.filter((name) => !names.includes(name)).map((name) => `${name} is missing`),
    ...entityFaults(root),
  ];
}
