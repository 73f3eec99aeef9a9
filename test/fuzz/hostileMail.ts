import { SENDER } from "../support/tenants.ts";
import type { Random } from "./random.ts";

const END = "\r\n";

const CHARSETS = ["utf-8", "iso-8859-1", "utf-7", "x-unknown", "utf-16le", '"', "iso-2022-jp"];
const TYPES = [
  "text/plain",
  "text/html",
  "multipart/mixed; boundary=b",
  "multipart/alternative; boundary=b",
  "multipart/related; boundary=b",
  'multipart/mixed; boundary=""',
  "message/rfc822",
  "image/png; name=a.png",
  "application/octet-stream",
  "",
  "text/plain; charset=\u0000",
];
const ENCODINGS = ["7bit", "8bit", "base64", "quoted-printable", "x-uuencode", "binary", "gzip"];
const FIELDS = [
  "From: eve@example.com",
  `From: ${SENDER}, eve@example.com`,
  "From: undisclosed: ;",
  'From: "=?utf-8?Q?=0D=0ABcc:_eve=40example.com?=" <eve@example.com>',
  "Subject:",
  "Subject: =?utf-8?B?//79?=",
  `Subject: ${"x".repeat(2_000)}`,
  "Subject: =?utf-8?Q?a=00b=0D=0Ac?=",
  "Bcc: hidden@example.com",
  "Reply-To: a@example.com, b@example.com",
  "Reply-To: <>",
  "X-Idempotency-Key: x",
  "X-Idempotency-Key: \u00ff\u00fe\u00fd\u00fc\u00fb\u00fa\u00f9\u00f8",
  "Message-ID: <same@client.example>",
  "Message-ID:",
  "Content-Type: text/plain; charset*=utf-8''%00",
  " folded without a field before it",
  "no colon here",
  ": no name",
  `X-Long: ${"y".repeat(20_000)}`,
  "Content-Disposition: attachment; filename=../../etc/passwd",
  "Content-Disposition: attachment; filename*0=a; filename*1=.png; filename*99999999=x",
  "Content-ID: <<>>",
];

/** A mail that is accepted from whoever may send. */
export function validMail(random: Random): string {
  const text = "word ".repeat(random.integer(1, 200)).trim();
  const id = `<${random.integer(0, 1e9)}.${random.integer(0, 1e9)}@client.example>`;
  return [`From: ${SENDER}`, "Subject: Hello", `Message-ID: ${id}`, "", text, ""].join(END);
}

/** A mail that is wrong in some way, or strange and right. */
export function faultyMail(random: Random): string {
  const makeFaulty = random.pick([
    withHeaderFields,
    multipartMail,
    nested,
    truncatedMail,
    withBytes,
    withoutHeader,
    withBareBreaks,
  ]);
  return makeFaulty(random);
}

function withHeaderFields(random: Random): string {
  const count = random.integer(1, 4);
  const fields = Array.from({ length: count }, () => random.pick(FIELDS)).join(END);
  return random.chance(0.5)
    ? `${fields}${END}${validMail(random)}`
    : validMail(random).replace(END + END, `${END}${fields}${END}${END}`);
}

function part(random: Random): string {
  const type = random.pick(TYPES).replace("text/plain", `text/plain; charset=${random.pick(CHARSETS)}`);
  const content = random.pick([
    "Hello",
    "SGVsbG8=",
    "=C3=A4=",
    "=",
    "\u00ff\u00fe",
    "%PDF-",
    "<p>\u0001</p>",
    "",
  ]);
  return [
    `Content-Type: ${type}`,
    `Content-Transfer-Encoding: ${random.pick(ENCODINGS)}`,
    ...(random.chance(0.5) ? [random.pick(FIELDS)] : []),
    "",
    content,
  ].join(END);
}

function multipartMail(random: Random): string {
  const parts = Array.from({ length: random.integer(0, 15) }, () => `--b${END}${part(random)}${END}`);
  const end = random.chance(0.7) ? `--b--${END}` : "";
  const type = random.pick(["mixed", "alternative", "related", "form-data", "x"]);
  const head = `From: ${SENDER}${END}Subject: Parts${END}Content-Type: multipart/${type}; boundary=b`;
  return `${head}${END}${END}${parts.join("")}${end}`;
}

function nested(random: Random): string {
  const levels = Array.from(
    { length: random.integer(1, 40) },
    (_, at) => `Content-Type: multipart/mixed; boundary=b${at}${END}${END}--b${at}${END}`,
  );
  return `From: ${SENDER}${END}Subject: Nested${END}${levels.join("")}${part(random)}${END}`;
}

function truncatedMail(random: Random): string {
  const complete = multipartMail(random);
  return complete.slice(0, random.integer(0, complete.length));
}

function withBytes(random: Random): string {
  const bytes = [...multipartMail(random)];
  for (let count = random.integer(1, 20); count > 0; count -= 1)
    bytes[random.integer(0, bytes.length - 1)] = String.fromCharCode(random.integer(0, 255));
  return bytes.join("");
}

function withoutHeader(random: Random): string {
  return random.pick(["", END, `${END}${END}`, "Hello", `${"x".repeat(100_000)}${END}`]);
}

function withBareBreaks(random: Random): string {
  const end = random.pick(["\n.\n", "\r.\r", "\n.\r\n", "\r\n.\n", "\0"]);
  return `${validMail(random)}${end}MAIL FROM:<eve@example.com>${END}RCPT TO:<eve@example.com>${END}DATA${END}Hidden`;
}
