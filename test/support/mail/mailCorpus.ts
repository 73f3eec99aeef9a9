import type { MailAttachment, MailMessage } from "../../../src/ports/mail/mailTransport.ts";

const ID = "6f1c9a52-8d0e-5b7a-9c3f-2f6f0a1b2c3d";
/** The longest subject that the API accepts. */
const SUBJECT_CHARACTERS_MAX = 998;
const DISPLAY_NAME_CHARACTERS_MAX = 255;

function file(filename: string, contentType = "application/pdf", content = "%PDF-1.7"): MailAttachment {
  return { filename, contentType, content: Buffer.from(content) };
}

/** Texts that occur in display names, subjects and file names. */
const TEXTS: Readonly<Record<string, string>> = {
  ascii: "Ana Smithson",
  "one word": "Ana",
  quotes: 'Ana "The Boss" Smithson',
  commas: "Smithson, Ana; Ltd. (Billing) <sales>",
  "an address": "ana@example.com",
  backslash: "C:\\Ana\\",
  "a dot": "Ana B. Smithson",
  umlauts: "Jürgen Groß, Öffentlichkeitsarbeit",
  "one umlaut": "ä",
  emoji: "Ana 👩‍👩‍👧‍👦 🎉",
  CJK: "株式会社サンプル 日本語のとても長い名前",
  "right to left": "שלום עולם",
  combining: "e\u0301\u0302 a\u0308",
  "an encoded-word": "=?utf-8?Q?a?=",
  "an empty encoded-word": "=?UTF-8?Q??=",
  "two encoded-words": "=?utf-8?B?YQ==?= =?utf-8?B?Yg==?=",
  "half an encoded-word": "a =?utf-8?q?a",
  "spaces outside": "  Ana  ",
  "spaces inside": "Ana   Smithson",
  "one space": " ",
  tab: "Ana\tSmithson",
  "long words": "Ana".repeat(60),
  "many words": "Ana Smithson ".repeat(15).trim(),
  "long umlauts": "Übergrößenträger ".repeat(11).trim(),
  "long emoji": "🎉".repeat(DISPLAY_NAME_CHARACTERS_MAX),
  "long CJK": "日".repeat(DISPLAY_NAME_CHARACTERS_MAX),
  colon: "Re: your order: 17",
  "a header": "Bcc: eve@example.org",
};

/** Subjects are longer than names may be. */
const SUBJECTS: Readonly<Record<string, string>> = {
  "998 characters": "x".repeat(SUBJECT_CHARACTERS_MAX),
  "998 umlauts": "ü".repeat(SUBJECT_CHARACTERS_MAX),
  "998 emoji": "🎉".repeat(SUBJECT_CHARACTERS_MAX),
  "998 in words": "order ".repeat(167).slice(0, SUBJECT_CHARACTERS_MAX - 1),
  "an umlaut at the end": `${"order ".repeat(50)}ü`,
  "a long word behind short ones": `Your order ${"x".repeat(900)}`,
};

/** Headers set by the caller. */
const HEADERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "one click": {
    "List-Unsubscribe": `<https://example.com/u?${"t".repeat(300)}>, <mailto:leave@example.com?subject=1>`,
    "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    "List-Id": "The news <news.example.com>",
  },
  "a thread": {
    References: Array.from({ length: 20 }, (_, index) => `<${index}.${"a".repeat(30)}@example.com>`).join(
      " ",
    ),
    "In-Reply-To": "<19@example.com>",
  },
  marks: {
    "Auto-Submitted": "auto-replied",
    Precedence: "bulk",
    importance: "HIGH",
    "Feedback-ID": "a:b:c:d",
  },
  JSON: { "X-Data": JSON.stringify({ a: "b", list: Array.from({ length: 40 }, (_, index) => index) }) },
  "a name of 76 letters": { [`X-${"a".repeat(74)}`]: "ü".repeat(100) },
  "a name of 75 letters": { [`X-${"a".repeat(73)}`]: "word ".repeat(40).trim() },
  "many blanks": { "X-Blanks": `a${" ".repeat(200)}b` },
};

const BODIES: Readonly<Record<string, Partial<MailMessage>>> = {
  "text only": { text: "Hello Ana" },
  "html only": { html: "<p>Hello Ana</p>" },
  "text and html": { text: "Hello Ana", html: "<p>Hello Ana</p>" },
  umlauts: { text: "Grüße", html: "<p>Grüße 🎉</p>" },
  CJK: { text: "日本語".repeat(200) },
  "no line end": { text: "a" },
  "an empty text": { text: "", html: "<p>a</p>" },
  "nothing but line ends": { text: "\n\n" },
  "a dot on a line": { text: "a\n.\n..\nb" },
  "From at the beginning": { text: "From here on\nFrom there" },
  "spaces at line ends": { text: "a \nb\t\n \n" },
  "long lines": { text: "x".repeat(5_000), html: `<p>${"word ".repeat(1_000)}</p>` },
  controls: { text: "a\u0001b\u001bc\u007f" },
  "any line end": { text: "a\rb\nc\r\nd" },
};

const FILES: Readonly<Record<string, readonly MailAttachment[]>> = {
  "one file": [file("a.pdf")],
  "an empty file": [file("a.csv", "text/csv", "")],
  "a text": [file("a.csv", "text/csv", "ä;ö\n")],
  "a message": [file("a.eml", "message/rfc822", "Subject: a\r\n\r\nb")],
  "ten files": Array.from({ length: 10 }, (_, index) => file(`${index}.pdf`)),
};

const ADDRESSES: Readonly<Record<string, Partial<MailMessage>>> = {
  "an IDN": {
    from: "orders@xn--bcher-kva.example",
    to: "ana@xn--wgv71a119e.jp",
    replyTo: "help@xn--p1ai.ru",
  },
  "a long address": { to: `${"a".repeat(64)}@${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(50)}.example` },
  "odd local parts": { from: "a+b=c@example.com", to: "!#$%&'*+-/=?^_`{|}~@example.net" },
};

/** A message of the corpus, and what it tests. */
export interface Specimen {
  readonly about: string;
  readonly message: MailMessage;
  /** Whether an address needs UTF-8 in the headers (RFC 6532): nothing else does. */
  readonly isInternational: boolean;
  /** Why Python's parser cannot check it. */
  readonly pythonSkipReason?: string;
}

function specimen(
  about: string,
  parts: Partial<MailMessage>,
  options: Partial<Pick<Specimen, "isInternational" | "pythonSkipReason">> = {},
): Specimen {
  const body = parts.text === undefined && parts.html === undefined ? { text: "Hello Ana" } : {};
  const message = {
    id: ID,
    messageId: `<${ID}@example.com>`,
    date: Date.UTC(2026, 0, 2, 3, 4, 5),
    from: "orders@example.com",
    to: "ana@example.net",
    subject: "Your order",
    ...body,
    ...parts,
  };
  return { about, message, isInternational: false, ...options };
}

function each<Value>(
  values: Readonly<Record<string, Value>>,
  field: string,
  parts: (value: Value) => Partial<MailMessage>,
): readonly Specimen[] {
  return Object.entries(values).map(([about, value]) => specimen(`${field}: ${about}`, parts(value)));
}

function fileNameOf(text: string): string {
  return `${
    text
      .replace(/[/\\:\p{Cc}]/gu, "")
      .trim()
      .slice(0, 200)
      .normalize("NFC")
      .toWellFormed() || "a"
  }.pdf`;
}

/** Messages of every kind that the service sends, for strict parsers. */
export const MAIL_CORPUS: readonly Specimen[] = [
  specimen("no display name", {}),
  specimen("an empty display name", { fromName: "" }),
  specimen("a reply address", { replyTo: "help@example.com", fromName: "Ana" }),
  ...each(TEXTS, "display name", (fromName) => ({ fromName })),
  ...each(TEXTS, "the recipient's name", (toName) => ({ toName })),
  ...each(TEXTS, "the reply name", (replyToName) => ({ replyTo: "help@example.com", replyToName })),
  specimen("three names", {
    fromName: "Ana",
    toName: "Bücher & Mehr",
    replyTo: "a@example.com",
    replyToName: '"',
  }),
  ...each({ ...TEXTS, ...SUBJECTS }, "subject", (subject) => ({ subject })),
  ...each({ ...TEXTS, ...SUBJECTS }, "own header", (text) => ({ headers: { "X-Own": text } })),
  ...each(HEADERS, "headers", (headers) => ({ headers })),
  ...each(BODIES, "body", (body) => body),
  ...each(FILES, "files", (attachments) => ({ attachments, html: "<p>a</p>" })),
  ...each(TEXTS, "file name", (text) => ({ attachments: [file(fileNameOf(text))] })),
  ...each(ADDRESSES, "address", (addresses) => addresses),
  specimen(
    "address: a look-alike",
    { from: "=?utf-8?q?a?=@example.com", replyTo: "=?utf-8?q?a?=@example.com" },
    { pythonSkipReason: "it decodes encoded-words in addresses, where none may be (RFC 2047 §5)" },
  ),
  specimen(
    "address: a local part in UTF-8",
    { to: "jürgen@xn--bcher-kva.example", fromName: "Ana" },
    { isInternational: true, pythonSkipReason: "it reads no header in UTF-8 from bytes (RFC 6532)" },
  ),
];
