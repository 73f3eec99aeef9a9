import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEmlFileTransport } from "../../../src/adapters/nodemailer/emlFileTransport.ts";
import { parseSmtpUrl } from "../../../src/adapters/nodemailer/parseSmtpUrl.ts";
import { createSmtpTransport } from "../../../src/adapters/nodemailer/smtpTransport.ts";
import { systemClock } from "../../../src/adapters/system/systemClock.ts";
import type { MailMessage, MailTransport } from "../../../src/ports/mail/mailTransport.ts";
import { MAIL_CORPUS, type Specimen } from "../../support/mail/mailCorpus.ts";
import { sendWithin } from "../../support/mail/sendWithin.ts";
import { type Sink, startSmtpSink } from "../../support/mail/smtpSink.ts";
import { mailFaults } from "../../support/mail/strictMail.ts";

const MINUTE_MS = 60_000;
const never = new AbortController().signal;

async function deliver(transport: MailTransport, message: MailMessage): Promise<void> {
  const result = await transport.session(never);
  if (result.kind === "broken") throw new Error(result.reason);
  const outcome = await result.session.send(message, sendWithin(systemClock, MINUTE_MS));
  result.session.release();
  expect(outcome).toMatchObject({ kind: "accepted" });
}

interface Route {
  readonly name: string;
  /** Sends a message this way, and returns the received bytes. */
  pass(message: MailMessage): Promise<Buffer>;
}

let directory: string;
let outbox: MailTransport;
let sink: Sink;
let relay: MailTransport;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "postledger-strict-"));
  outbox = createEmlFileTransport({ directory, sessionsMax: 1 }, systemClock);
  sink = await startSmtpSink();
  relay = createSmtpTransport(parseSmtpUrl(`smtp://127.0.0.1:${sink.port}`), systemClock);
});

afterAll(async () => {
  await Promise.all([outbox.close(), relay.close()]);
  await sink.close();
  await rm(directory, { recursive: true });
});

const ROUTES: readonly Route[] = [
  {
    name: "the outbox",
    async pass(message) {
      await deliver(outbox, message);
      return readFile(join(directory, `${message.id}.eml`));
    },
  },
  {
    name: "a relay",
    async pass(message) {
      await deliver(relay, message);
      return sink.record.messages.at(-1)?.raw ?? Buffer.alloc(0);
    },
  },
];

/** The value of a header as in the bytes, still folded. */
function rawHeader(bytes: Buffer, name: string): string | undefined {
  const header = bytes.toString("latin1").split("\r\n\r\n", 1)[0] ?? "";
  return new RegExp(`^${name}: ((?:.|\r\n[ \t])*)`, "mi").exec(header)?.[1];
}

interface PythonReading {
  readonly defects: readonly string[];
  readonly from?: readonly (readonly [string, string])[];
  readonly to?: readonly (readonly [string, string])[];
  readonly reply_to?: readonly (readonly [string, string])[];
  readonly subject?: string;
  readonly own?: string | null;
  readonly files?: readonly string[];
}

const python = Bun.which("python3");
const PYTHON_READER = join(import.meta.dir, "../../support/mail/strictPython.py");

function readByPython(messages: readonly Buffer[]): readonly PythonReading[] {
  const stdin = Buffer.from(messages.map((bytes) => bytes.toString("base64")).join("\n"));
  const { stdout, stderr, exitCode } = Bun.spawnSync([python ?? "", PYTHON_READER], { stdin });
  expect({ exitCode, stderr: stderr.toString() }).toEqual({ exitCode: 0, stderr: "" });
  return stdout
    .toString()
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as PythonReading);
}

/** Python up to 3.12 puts spaces between the encoded-words of a name (its issue 92081), and takes some from its own. */
function withoutSpaces(name: string): string {
  return name.replace(/\s/g, "");
}

function expectSameAsSent({ about, message }: Specimen, read: PythonReading | undefined): void {
  const { from, fromName = "", to, toName = "", replyTo, replyToName = "", subject } = message;
  const { attachments = [], headers = {} } = message;
  const named = (list: PythonReading["from"] = []) =>
    list.map(([name, address]) => [withoutSpaces(name), address]);
  const names = { from: named(read?.from), to: named(read?.to), reply_to: named(read?.reply_to) };
  expect({ about, ...read, ...names }).toEqual({
    about,
    defects: [],
    from: [[withoutSpaces(fromName), from]],
    to: [[withoutSpaces(toName), to]],
    reply_to: replyTo === undefined ? [] : [[withoutSpaces(replyToName), replyTo]],
    subject,
    own: headers["X-Own"] ?? null,
    files: attachments.map(({ filename }) => filename),
  });
}

for (const { name, pass } of ROUTES) {
  describe(`what comes out of ${name}`, () => {
    test(`is right to the letter of the standards, ${MAIL_CORPUS.length} messages`, async () => {
      const faults: unknown[] = [];
      for (const { about, message, isInternational } of MAIL_CORPUS) {
        const found = mailFaults(await pass(message), isInternational);
        if (found.length > 0) faults.push([about, found]);
      }
      expect(faults).toEqual([]);
    });

    test("shows only the address of a sender without a display name", async () => {
      const [nameless] = MAIL_CORPUS;
      if (!nameless) throw new Error("the corpus is empty");
      for (const parts of [{}, { fromName: "" }]) {
        const bytes = await pass({ ...nameless.message, ...parts });
        expect(rawHeader(bytes, "From")).toBe(nameless.message.from);
      }
    });

    const checkedMessages = MAIL_CORPUS.filter(({ pythonSkipReason }) => pythonSkipReason === undefined);
    const skippedCount = MAIL_CORPUS.length - checkedMessages.length;
    if (python === null)
      console.warn(`python3 is not on the PATH: it reads none of ${checkedMessages.length} messages`);
    test.skipIf(python === null)(
      `is read by Python's strict parser as it was sent, ${checkedMessages.length} messages (${skippedCount} are beyond it)`,
      async () => {
        const messages: Buffer[] = [];
        for (const { message } of checkedMessages) messages.push(await pass(message));
        const readings = readByPython(messages);
        expect(readings).toHaveLength(checkedMessages.length);
        for (const [index, specimen] of checkedMessages.entries())
          expectSameAsSent(specimen, readings[index]);
      },
    );
  });
}

/** A sound message with one change, and the fault that must be found. */
const VALID_MAIL = [
  "From: Ana <ana@example.com>",
  "To: bo@example.net",
  "Subject: Hello",
  "Message-ID: <1@example.com>",
  "Date: Fri, 02 Jan 2026 03:04:05 +0000",
  "MIME-Version: 1.0",
  'Content-Type: multipart/mixed; boundary="b"',
  "",
  "--b",
  "Content-Type: text/plain; charset=utf-8",
  "Content-Transfer-Encoding: quoted-printable",
  "",
  "Gr=C3=BC=C3=9Fe",
  "--b",
  "Content-Type: application/pdf; name=a.pdf",
  "Content-Transfer-Encoding: base64",
  "Content-Disposition: attachment; filename=a.pdf",
  "",
  "JVBERi0xLjc=",
  "--b--",
  "",
].join("\r\n");

const FROM = "From: Ana <ana@example.com>";
const SUBJECT = "Subject: Hello";
const FAULTY_CHANGES: readonly (readonly [what: string, from: string, to: string, found: RegExp])[] = [
  ["an empty encoded-word", FROM, "From: =?UTF-8?Q??= <ana@example.com>", /is empty/],
  ["an empty encoded-word", SUBJECT, "Subject: =?UTF-8?B??=", /is empty/],
  ["a long encoded-word", SUBJECT, `Subject: =?UTF-8?Q?${"x".repeat(64)}?=`, /word is too long/],
  [
    "a long line with encoded-words",
    SUBJECT,
    `Subject: ${"=?UTF-8?Q?xxxxxxxx?= ".repeat(4)}`,
    /too long for/,
  ],
  ["half a character", SUBJECT, "Subject: =?UTF-8?Q?=C3?= =?UTF-8?Q?=BC?=", /inside a character/],
  ["another character set", SUBJECT, "Subject: =?iso-8859-1?Q?=FC?=", /in iso-8859-1/],
  ["a space in an encoded-word", SUBJECT, "Subject: =?UTF-8?Q?a b?=", /not an encoded-word/],
  ["bad Base64", SUBJECT, "Subject: =?UTF-8?B?w7?=", /must not/],
  ["text beside an encoded-word", SUBJECT, "Subject: a=?UTF-8?Q?b?=", /not an encoded-word/],
  ["quotes in an encoded name", FROM, 'From: =?UTF-8?Q?"a"?= <ana@example.com>', /not an encoded-word/],
  ["an encoded-word in quotes", FROM, 'From: "=?UTF-8?Q?a?=" <ana@example.com>', /in quotes/],
  ["a comma in a name", FROM, "From: Smithson, Ana <ana@example.com>", /needs quotes/],
  ["a quote that does not end", FROM, 'From: "Ana <ana@example.com>', /does not end|not an address/],
  ["an empty name", FROM, "From:  <ana@example.com>", /empty name/],
  ["two addresses", FROM, "From: ana@example.com, bo@example.com", /not an address/],
  ["no domain", FROM, "From: Ana <ana>", /not an address/],
  ["raw UTF-8", SUBJECT, "Subject: Grüße", /not ASCII/],
  ["raw UTF-8 in a name", FROM, "From: Jürgen <ana@example.com>", /not ASCII/],
  ["a control character", SUBJECT, "Subject: a\u0001b", /control/],
  ["a line feed alone", SUBJECT, "Subject: a\n b", /not CRLF/],
  ["a long line", SUBJECT, `Subject: ${"x".repeat(1_000)}`, /too long/],
  ["a line that is not folded", SUBJECT, `Subject: ${"word ".repeat(30)}`, /should be folded/],
  ["a fold of white space alone", SUBJECT, "Subject: a\r\n \r\n b", /white space alone/],
  ["two subjects", SUBJECT, `${SUBJECT}\r\n${SUBJECT}`, /twice/],
  ["no subject", `${SUBJECT}\r\n`, "", /subject is missing/],
  ["a header without a name", SUBJECT, ": Hello", /without a name/],
  ["no date", /^Date.*\r\n/m.exec(VALID_MAIL)?.[0] ?? "", "", /date is missing/],
  ["a day that is not", "Fri, 02 Jan", "Sat, 02 Jan", /no such day/],
  ["a zone in letters", "+0000", "GMT", /not a date/],
  ["a Message-ID without brackets", "<1@example.com>", "1@example.com", /not a Message-ID/],
  ["no MIME-Version", "MIME-Version: 1.0\r\n", "", /mime-version is missing/],
  ["another MIME-Version", "MIME-Version: 1.0", "MIME-Version: 2.0", /version of MIME/],
  ["no boundary", '; boundary="b"', "", /without a boundary/],
  ["no end", "--b--\r\n", "", /ends badly|does not end/],
  ["no type", "application/pdf;", "pdf;", /not a value/],
  ["a text without a character set", "; charset=utf-8", "", /without a character set/],
  ["an encoding of our own", "quoted-printable", "x-none", /not an encoding/],
  ["bad quoted-printable", "Gr=C3=BC=C3=9Fe", "Gr=c3=bc", /not quoted-printable/],
  ["a long quoted line", "Gr=C3=BC=C3=9Fe", "x".repeat(77), /encoded line is too long/],
  ["white space at the end", "Gr=C3=BC=C3=9Fe", "Gr ", /ends with white space/],
  ["a body that is not base64", "JVBERi0xLjc=", "JVBERi0xLjc", /not base64/],
  ["an encoded-word in a parameter", "name=a.pdf", 'name="=?UTF-8?Q?a?="', /in the parameter/],
  ["a file name that needs quotes", "filename=a.pdf", "filename=a b.pdf", /not a list|needs quotes/],
  ["a parameter that stands there twice", "filename=a.pdf", "filename=a.pdf; filename=b.pdf", /twice/],
  ["a gap in a parameter", "filename=a.pdf", "filename*0*=utf-8''a; filename*2*=b", /gap/],
  ["a parameter without its character set", "filename=a.pdf", "filename*=%C3%BC.pdf", /character set/],
  ["a parameter that is not encoded", "filename=a.pdf", "filename*=utf-8''a'b", /is not encoded/],
  ["half a character in a parameter", "filename=a.pdf", "filename*=utf-8''%C3", /not UTF-8/],
];

describe("the strict reader", () => {
  test("finds nothing in a sound message", () => {
    expect(mailFaults(Buffer.from(VALID_MAIL))).toEqual([]);
  });

  test.each(FAULTY_CHANGES)("finds %s", (_, from, to, found) => {
    expect(VALID_MAIL).toContain(from);
    expect(mailFaults(Buffer.from(VALID_MAIL.replace(from, () => to))).join("\n")).toMatch(found);
  });
});
