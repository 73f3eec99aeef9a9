import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import PostalMime, { decodeWords } from "postal-mime";
import type { SMTPServerOptions } from "smtp-server";
import { createEmlFileTransport } from "../../src/adapters/nodemailer/emlFileTransport.ts";
import { buildMime, compose } from "../../src/adapters/nodemailer/mimeMessage.ts";
import { parseSmtpUrl } from "../../src/adapters/nodemailer/parseSmtpUrl.ts";
import { createRateLimiter } from "../../src/adapters/nodemailer/rateLimiter.ts";
import type { SmtpOptions } from "../../src/adapters/nodemailer/smtpRelay.ts";
import { createSmtpTransport } from "../../src/adapters/nodemailer/smtpTransport.ts";
import { systemClock } from "../../src/adapters/system/systemClock.ts";
import type { MailOutcome } from "../../src/kernel/outcome/mailOutcome.ts";
import { leftMs } from "../../src/ports/clock.ts";
import type {
  MailAttachment,
  MailMessage,
  MailSession,
  MailTransport,
} from "../../src/ports/mail/mailTransport.ts";
import { sendWithin } from "../support/mail/sendWithin.ts";
import { type Sink, type SinkHook, type SinkHooks, startSmtpSink } from "../support/mail/smtpSink.ts";
import { until } from "../support/until.ts";
import {
  EXPIRED_CERTIFICATE,
  RECEIVER_CERTIFICATE,
  RECEIVER_KEY,
} from "../support/webhook/receiverCertificate.ts";

const ID = "6f1c9a52-8d0e-5b7a-9c3f-2f6f0a1b2c3d";
const MINUTE_MS = 60_000;
setDefaultTimeout(MINUTE_MS);
const never = new AbortController().signal;
/** More than socket buffers hold: the final dot cannot be out before the relay has read most of it. */
const BIG_TEXT = "0123456789012345678901234567890123456789\r\n".repeat(400_000);
/** The time of day after a clock was set back; deadlines were set by the system's clock before. */
const hourBehind = { ...systemClock, now: () => Date.now() - 60 * MINUTE_MS };
const hanging = (): Promise<undefined> => new Promise(() => undefined);

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function mail(parts: Partial<MailMessage> = {}): MailMessage {
  return {
    id: ID,
    messageId: `<${ID}@example.com>`,
    date: Date.UTC(2026, 0, 2, 3, 4, 5),
    from: "orders@example.com",
    to: "anna@example.net",
    subject: "Your order",
    ...(parts.html === undefined ? { text: "Hello Anna" } : {}),
    ...parts,
  };
}

function file(filename: string, contentType: string, content: string): MailAttachment {
  return { filename, contentType, content: Buffer.from(content) };
}

function at(stage: keyof SinkHooks, hook: SinkHook): SinkHooks {
  return { [stage]: hook };
}

/** A relay that takes a message, and whose answer waits in the socket until the busy thread `isOver`. */
function relayWithStall(isOver: () => boolean): Promise<{ port: number }> {
  let inContent = false;
  return scriptedRelay((line, socket) => {
    if (line === ".") {
      inContent = false;
      socket.write("250 taken\r\n");
      while (!isOver());
      return undefined;
    }
    if (inContent) return undefined;
    inContent = line === "DATA";
    return inContent ? "354 go" : "250 ok";
  });
}

async function sinkWith(hooks: SinkHooks = {}, options: SMTPServerOptions = {}): Promise<Sink> {
  const sink = await startSmtpSink(hooks, { disabledCommands: ["AUTH", "STARTTLS"], ...options });
  cleanups.push(() => sink.close());
  return sink;
}

function transportTo(
  sink: { port: number },
  options: Partial<SmtpOptions> = {},
  clock = systemClock,
): MailTransport {
  const relay = parseSmtpUrl(`smtp://127.0.0.1:${sink.port}`);
  const transport = createSmtpTransport({ ...relay, ...options }, clock);
  cleanups.push(() => transport.close());
  return transport;
}

async function sessionOf(transport: MailTransport, signal = never): Promise<MailSession> {
  const result = await transport.session(signal);
  if (result.kind === "broken") throw new Error(result.reason);
  return result.session;
}

async function deliver(
  transport: MailTransport,
  message = mail(),
  deadline = sendWithin(systemClock, MINUTE_MS),
): Promise<MailOutcome> {
  const session = await sessionOf(transport);
  const outcome = await session.send(message, deadline);
  session.release();
  return outcome;
}

async function failSession(transport: MailTransport, signal = never): Promise<string> {
  const result = await transport.session(signal);
  if (result.kind === "session") throw new Error("a session was opened");
  return result.reason;
}

/** A scripted relay, for behaviour that smtp-server does not have. */
async function scriptedRelay(
  answer: (line: string, socket: Socket) => string | undefined,
): Promise<{ port: number }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.write("220 scripted\r\n");
    let rest = "";
    socket.on("data", (chunk) => {
      const lines = (rest + chunk.toString("latin1")).split("\r\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const reply = answer(line, socket);
        if (reply !== undefined) socket.write(`${reply}\r\n`);
      }
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port };
}

describe("content", () => {
  const contents: [string, Partial<MailMessage>][] = [
    ["text only", { text: "Hello Anna,\nyour order.\n" }],
    ["html only", { html: "<p>Hällo <b>Anna</b></p>" }],
    ["both", { text: "Grüße 👋", html: `<p>${"long ".repeat(400)}</p>` }],
    ["dots, spaces and bare line ends", { text: ".\n..\r.leading \r\ntrailing \t\nFrom here", html: "." }],
    ["another script", { text: "Здравствуйте, Анна! ".repeat(50), subject: "Ваш заказ принят 🎉".repeat(8) }],
    ["a NUL and a DEL", { text: "a\0b\u007fc" }],
    ["a display name", { fromName: "Bücher & Mehr" }],
    [
      "three names",
      { fromName: "=?utf-8?Q?b?=", toName: 'Ana "A" Ö', replyTo: "desk@example.com", replyToName: "受付" },
    ],
    [
      "a subject and a display name like encoded-words",
      { subject: "=?utf-8?Q?a?=", fromName: "=?utf-8?Q?b?=" },
    ],
    [
      "headers of the caller's own",
      {
        headers: {
          "X-SES-Message-Tags": 'campaign="welcome", a=b',
          "X-greeting": "Grüße, 山田",
          "List-Unsubscribe": "<https://example.com/u>",
        },
      },
    ],
    ["a file", { attachments: [file("a.pdf", "application/pdf", "%PDF-")] }],
    ["a file without a text", { text: "", attachments: [file("a.csv", "text/csv", "ä;ö")] }],
    ["an empty file", { attachments: [file("a.txt", "text/plain", "")] }],
    [
      "files beside both",
      {
        html: "<p>Hällo</p>",
        text: "Hello",
        attachments: [
          file('Überweisung "1".pdf', "application/pdf", "x".repeat(200_000)),
          file("a;b=c%20.pdf", "application/pdf", "x".repeat(57)),
          file("a.eml", "message/rfc822", "From: a@example.com\n\nHello"),
        ],
      },
    ],
  ];

  test.each(contents)("%s arrives as it was written", async (_, parts) => {
    const sink = await sinkWith();
    const message = mail(parts);
    expect(await deliver(transportTo(sink), message)).toMatchObject({
      kind: "accepted",
      reply: expect.stringMatching(/^250 /),
    });
    const [received] = sink.record.messages;
    expect(received).toMatchObject({ from: message.from, to: [message.to] });
    const raw = received?.raw ?? Buffer.alloc(0);
    expect(raw.equals(buildMime(message))).toBe(true);
    const parsed = await PostalMime.parse(raw);
    const settled = (content?: string): string | undefined => content?.replace(/\r\n|\r|\n/g, "\n").trimEnd();
    expect(settled(parsed.text)).toBe(settled(message.text) || undefined);
    expect(settled(parsed.html)).toBe(settled(message.html));
    expect(parsed.subject).toBe(message.subject);
    expect(parsed.from).toEqual({ address: message.from, name: message.fromName ?? "" });
    expect(
      parsed.attachments.map(({ filename, content }) => [filename, Buffer.from(content as ArrayBuffer)]),
    ).toEqual((message.attachments ?? []).map(({ filename, content }) => [filename, Buffer.from(content)]));
    expect(parsed.to).toEqual([{ address: message.to, name: message.toName ?? "" }]);
    const replyTo = { address: message.replyTo, name: message.replyToName ?? "" };
    expect(parsed.replyTo as unknown).toEqual(message.replyTo === undefined ? undefined : [replyTo]);
    expect(parsed.messageId).toBe(message.messageId);
    expect(Date.parse(parsed.date ?? "")).toBe(message.date);
    const headers = new Map(parsed.headers.map(({ key, value }) => [key, value]));
    expect(headers.get("x-postledger-id")).toBe(ID);
    expect(headers.get("auto-submitted")).toBe("auto-generated");
    for (const [name, value] of Object.entries(message.headers ?? {})) {
      expect(decodeWords(headers.get(name.toLowerCase()) ?? "")).toBe(value);
      expect(raw.toString("latin1")).toContain(`\r\n${name}: `);
    }
  });

  test.each(contents)("%s has the bytes that nodemailer builds, safe on any relay", async (_, parts) => {
    const bytes = buildMime(mail(parts));
    expect(bytes.equals(await compose(mail(parts)).build())).toBe(true);
    expect(bytes.equals(buildMime(mail(parts)))).toBe(true);
    const text = bytes.toString("latin1");
    expect(text).not.toMatch(/[\u0080-\u00ff]/);
    expect(text).not.toContain("\0");
    expect(text.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
    expect(Math.max(...text.split("\r\n").map((line) => line.length))).toBeLessThanOrEqual(998);
  });

  test("a line break in the subject adds no header", async () => {
    const bytes = buildMime(mail({ subject: "Hi\r\nBcc: eve@example.org\r\n\r\nbody" }));
    const parsed = await PostalMime.parse(bytes);
    expect(parsed.bcc).toBeUndefined();
    expect(parsed.text?.trim()).toBe("Hello Anna");
  });

  test("an address with a comma stays one address, and Reply-To is set", async () => {
    const parsed = await PostalMime.parse(
      buildMime(mail({ to: '"a,b"@example.net', replyTo: "help@example.com" })),
    );
    expect(parsed.to).toHaveLength(1);
    expect(parsed.replyTo?.map((address) => address.address)).toEqual(["help@example.com"]);
  });

  test("nothing is read from files or the network", async () => {
    const parsed = await PostalMime.parse(
      buildMime(mail({ text: "/etc/passwd", html: "https://example.com/" })),
    );
    expect(parsed.text?.trim()).toBe("/etc/passwd");
    expect(parsed.html?.trim()).toBe("https://example.com/");
    expect(parsed.attachments).toEqual([]);
  });
});

describe.each([
  ["with pipelining", false],
  ["without pipelining", true],
])("a relay %s", (_, hidePIPELINING) => {
  const stages = ["mail", "rcpt", "data", "final"] as const;
  const codes = [451, 550];

  test.each(stages.flatMap((stage) => codes.map((code) => [stage, code] as const)))(
    "that answers %s with %d refuses, and the connection is used again",
    async (stage, code) => {
      const answer = { code, text: "4.7.1 no, thank you" };
      const sink = await sinkWith(
        at(stage, ({ message }) => (message === 1 ? answer : undefined)),
        { hidePIPELINING },
      );
      const transport = transportTo(sink, { connectionsMax: 1 });
      const outcome = await deliver(transport);
      expect(outcome).toEqual({ kind: "refused", stage, code, reply: `${code} 4.7.1 no, thank you` });
      expect(await deliver(transport)).toMatchObject({ kind: "accepted" });
      expect(sink.record).toMatchObject({ connections: 1, resets: 1 });
    },
  );

  test.each(stages)("that answers %s with 421 refuses, and the connection is closed", async (stage) => {
    const answer = { code: 421, text: "4.3.2 closing" };
    const sink = await sinkWith(
      at(stage, ({ connection }) => (connection === 1 ? answer : undefined)),
      { hidePIPELINING },
    );
    const transport = transportTo(sink);
    const outcome = await deliver(transport);
    expect(outcome).toEqual({ kind: "refused", stage, code: 421, reply: "421 4.3.2 closing" });
    await sink.until(({ connectionsOpen }) => connectionsOpen === 0);
    expect(await deliver(transport)).toMatchObject({ kind: "accepted" });
    expect(sink.record.connections).toBe(2);
  });

  test.each(["mail", "rcpt", "data"] as const)("that vanishes at %s is broken there", async (stage) => {
    const sink = await sinkWith(
      at(stage, () => "drop"),
      { hidePIPELINING },
    );
    expect(await deliver(transportTo(sink))).toMatchObject({ kind: "broken", stage });
    expect(sink.record.contents).toBe(0);
    expect(sink.record.connections).toBe(1);
  });

  test("that drops the connection after the final dot leaves the outcome unknown", async () => {
    const sink = await sinkWith({ final: () => "drop" }, { hidePIPELINING });
    expect(await deliver(transportTo(sink))).toMatchObject({ kind: "unknown" });
    expect(sink.record.messages).toHaveLength(1);
  });

  test("that drops the connection in the middle of the content is broken at data", async () => {
    const sink = await sinkWith({ chunk: () => "drop" }, { hidePIPELINING });
    expect(await deliver(transportTo(sink), mail({ text: BIG_TEXT }))).toMatchObject({
      kind: "broken",
      stage: "data",
    });
    expect(sink.record).toMatchObject({ contents: 1, messages: [] });
  });

  test.each(["mail", "rcpt", "data"] as const)(
    "that hangs at %s is out of time at the deadline",
    async (stage) => {
      const sink = await sinkWith(at(stage, hanging), { hidePIPELINING });
      expect(await deliver(transportTo(sink), mail(), sendWithin(systemClock, 400))).toEqual({
        kind: "outOfTime",
      });
      await sink.until(({ connectionsOpen }) => connectionsOpen === 0);
      expect(sink.record.contents).toBe(0);
    },
  );

  test.each(["mail", "rcpt", "data"] as const)("that is silent at %s is broken there", async (stage) => {
    const sink = await sinkWith(at(stage, hanging), { hidePIPELINING });
    const outcome = await deliver(transportTo(sink, { commandTimeoutMs: 400 }));
    expect(outcome).toMatchObject({ kind: "broken", stage, reason: expect.stringContaining("ETIMEDOUT") });
  });
});

describe("the reply", () => {
  test("of several lines is joined, without control characters", async () => {
    const text = ["5.7.1 go", "away,", "please"];
    const sink = await sinkWith({ rcpt: () => ({ code: 554, text }) });
    expect(await deliver(transportTo(sink))).toMatchObject({ reply: "554 5.7.1 go away, please" });
  });

  test("is at most 1,000 characters long", async () => {
    const sink = await sinkWith({ rcpt: () => ({ code: 554, text: "x".repeat(5_000) }) });
    const outcome = await deliver(transportTo(sink));
    expect(outcome.kind === "refused" && outcome.reply.length).toBe(1_000);
  });

  /** Answers everything before the content as a relay should. */
  function untilContent(line: string): string | undefined {
    if (line === "DATA") return "354 go";
    return /^(EHLO|MAIL|RCPT)/.test(line) ? "250 ok" : undefined;
  }

  test("that is not a final one leaves the outcome unknown after the final dot", async () => {
    const relay = await scriptedRelay((line) => (line === "." ? "354 what?" : untilContent(line)));
    expect(await deliver(transportTo(relay))).toMatchObject({ kind: "unknown" });
  });

  test.each([
    ["250 thank you", { kind: "broken", stage: "data" }],
    ["552 5.3.4 too big", { kind: "refused", stage: "final", code: 552, reply: "552 5.3.4 too big" }],
  ])("%s before the end of the content ends the connection", async (reply, outcome) => {
    let greetings = 0;
    const relay = await scriptedRelay((line, socket) => {
      if (line.startsWith("EHLO")) greetings += 1;
      const answer = untilContent(line);
      if (answer !== undefined || socket.isPaused()) return answer;
      socket.pause();
      return reply;
    });
    const transport = transportTo(relay);
    expect(await deliver(transport, mail({ text: BIG_TEXT }))).toMatchObject(outcome);
    (await sessionOf(transport)).release();
    expect(greetings).toBe(2);
  });
});

describe.each([
  ["one reply too many", "250 ok\r\n250 ok"],
  ["two replies too many", "250 ok\r\n250 ok\r\n250 ok"],
])("a relay that answers MAIL FROM with %s", (_, replies) => {
  test.each([
    ["with pipelining", "250-scripted\r\n250 PIPELINING"],
    ["without pipelining", "250 scripted"],
  ])("%s gets no content, because it has not asked for any", async (_name, greeting) => {
    const lines: string[] = [];
    const relay = await scriptedRelay((line) => {
      lines.push(line.slice(0, 4));
      if (line.startsWith("EHLO")) return greeting;
      if (line.startsWith("MAIL")) return replies;
      if (line === "DATA") return "354 go";
      return line === "." ? "451 4.3.0 no" : "250 ok";
    });
    const outcome = await deliver(transportTo(relay));
    const reason = "the relay answered DATA with 250, not with 354";
    expect(outcome).toEqual({ kind: "broken", stage: "data", reason });
    expect(["EHLO", "MAIL", "RCPT", "DATA"]).toEqual(expect.arrayContaining(lines));
  });
});

describe("the deadline", () => {
  test("that has passed already sends nothing, and the connection stays", async () => {
    const sink = await sinkWith();
    const transport = transportTo(sink);
    expect(await deliver(transport, mail(), sendWithin(systemClock, 0))).toEqual({ kind: "outOfTime" });
    expect(sink.record.mails).toBe(0);
    expect(await deliver(transport)).toMatchObject({ kind: "accepted" });
    expect(sink.record.connections).toBe(1);
  });

  test.each([
    ["by the time of day", { now: 2 * MINUTE_MS, monotonicMs: 0 }],
    [
      "by the monotonic clock, while the time of day was set back",
      { now: -60 * MINUTE_MS, monotonicMs: 2 * MINUTE_MS },
    ],
  ])("that passes before 354 %s stops the content", async (_clock, later) => {
    let time = { now: 0, monotonicMs: 0 };
    const sink = await sinkWith({
      data() {
        time = later;
        return undefined;
      },
    });
    const clock = { now: () => time.now, monotonicMs: () => time.monotonicMs };
    const transport = transportTo(sink, {}, clock);
    expect(await deliver(transport, mail(), sendWithin(clock, MINUTE_MS))).toEqual({ kind: "outOfTime" });
    await sink.until(({ connectionsOpen }) => connectionsOpen === 0);
    expect(sink.record).toMatchObject({ contents: 0, messages: [] });
  });

  test("ends a command's wait when the time of day was set back since", async () => {
    const sink = await sinkWith({ mail: hanging });
    const transport = transportTo(sink, {}, hourBehind);
    expect(await deliver(transport, mail(), sendWithin(systemClock, 400))).toEqual({ kind: "outOfTime" });
  });

  test("ends a wait for the rate when the time of day was set back since", async () => {
    const sink = await sinkWith();
    const transport = transportTo(sink, { messagesPerSecondMax: 0.001 }, hourBehind);
    const session = await sessionOf(transport);
    expect(await session.send(mail(), sendWithin(systemClock, MINUTE_MS))).toMatchObject({
      kind: "accepted",
    });
    expect(await session.send(mail(), sendWithin(systemClock, 400))).toEqual({ kind: "outOfTime" });
    session.release();
  });

  test("that passes before the relay answers the final dot leaves the outcome unknown", async () => {
    const sink = await sinkWith({ final: hanging });
    expect(await deliver(transportTo(sink), mail(), sendWithin(systemClock, 1_000))).toMatchObject({
      kind: "unknown",
    });
    expect(sink.record.messages).toHaveLength(1);
    await sink.until(({ connectionsOpen }) => connectionsOpen === 0);
  });

  test("that passes with the answer in the socket, unread, loses none", async () => {
    const deadline = sendWithin(systemClock, 1_000);
    const relay = await relayWithStall(() => leftMs(systemClock, deadline.reply) < 0);
    expect(await deliver(transportTo(relay), mail(), deadline)).toMatchObject({ kind: "accepted" });
  });

  test("of the handover does not end the wait for the answer to the final dot", async () => {
    const { handover } = sendWithin(systemClock, 400);
    const { reply } = sendWithin(systemClock, MINUTE_MS);
    const isOver = () => leftMs(systemClock, handover) <= 0;
    const final = () => until(isOver, "the end of the handover").then(() => undefined);
    const sink = await sinkWith({ final });
    expect(await deliver(transportTo(sink), mail(), { handover, reply })).toMatchObject({ kind: "accepted" });
  });

  test("of the handover ends a content that the relay does not read", async () => {
    const relay = await scriptedRelay((line, socket) => {
      if (line !== "DATA") return "250 ok";
      socket.pause();
      return "354 go";
    });
    const { handover } = sendWithin(systemClock, 6_000);
    const { reply } = sendWithin(systemClock, 60 * MINUTE_MS);
    const outcome = await deliver(transportTo(relay), mail({ text: BIG_TEXT }), { handover, reply });
    expect(outcome).toMatchObject({ kind: "broken", stage: "data" });
  });

  test("the final reply may take longer than other replies, but not for ever", async () => {
    const reply = Promise.withResolvers<undefined>();
    const slow = await sinkWith({ final: ({ message }) => (message === 1 ? reply.promise : hanging()) });
    const silent = await sinkWith({ mail: hanging });
    const timeouts = { commandTimeoutMs: 1_000, finalReplyTimeoutMs: 4_000 };
    const transport = transportTo(slow, timeouts);
    const first = deliver(transport);
    await slow.until(({ messages }) => messages.length === 1);
    // When the other relay's time is over, the time for a command is over here too.
    expect(await deliver(transportTo(silent, timeouts))).toMatchObject({ kind: "broken", stage: "mail" });
    reply.resolve(undefined);
    expect(await first).toMatchObject({ kind: "accepted" });
    expect(await deliver(transport)).toMatchObject({ kind: "unknown" });
  });
});

test("silence is over with an answer in the socket, read or not", async () => {
  let stallEnd = Number.POSITIVE_INFINITY;
  const relay = await relayWithStall(() => {
    stallEnd = Math.min(stallEnd, Date.now() + 500);
    return Date.now() > stallEnd;
  });
  const outcome = await deliver(transportTo(relay, { finalReplyTimeoutMs: 300 }));
  expect(outcome).toMatchObject({ kind: "accepted" });
});

describe("an idle connection", () => {
  test("is used again", async () => {
    const sink = await sinkWith();
    const transport = transportTo(sink);
    for (let count = 0; count < 5; count += 1) expect((await deliver(transport)).kind).toBe("accepted");
    expect(sink.record).toMatchObject({ connections: 1, resets: 0 });
  });

  test("that the relay has closed is replaced", async () => {
    const sink = await sinkWith();
    const transport = transportTo(sink);
    await deliver(transport);
    sink.dropAll();
    expect(await deliver(transport)).toMatchObject({ kind: "accepted" });
    expect(sink.record).toMatchObject({ connections: 2 });
    expect(sink.record.messages).toHaveLength(2);
  });

  test.each([["drop" as const], [{ code: 421, text: "4.4.2 idle for too long" }]])(
    "that turns out dead at MAIL FROM is replaced within the same send (%p)",
    async (answer) => {
      const sink = await sinkWith({ mail: ({ message }) => (message === 2 ? answer : undefined) });
      const transport = transportTo(sink);
      await deliver(transport);
      expect(await deliver(transport)).toMatchObject({ kind: "accepted" });
      expect(sink.record).toMatchObject({ connections: 2, mails: 3 });
      expect(sink.record.messages).toHaveLength(2);
    },
  );

  test("is replaced once, not for ever", async () => {
    const sink = await sinkWith({ mail: ({ message }) => (message >= 2 ? "drop" : undefined) });
    const transport = transportTo(sink);
    await deliver(transport);
    expect(await deliver(transport)).toMatchObject({ kind: "broken", stage: "mail" });
    expect(sink.record.mails).toBe(3);
  });

  test("that breaks after MAIL FROM was answered is not replaced", async () => {
    const sink = await sinkWith(
      { rcpt: ({ message }) => (message === 2 ? "drop" : undefined) },
      { hidePIPELINING: true },
    );
    const transport = transportTo(sink);
    await deliver(transport);
    expect(await deliver(transport)).toMatchObject({ kind: "broken", stage: "rcpt" });
    expect(sink.record.connections).toBe(1);
  });

  test("says QUIT when its idle time is over", async () => {
    const sink = await sinkWith();
    const transport = transportTo(sink, { idleMs: 20 });
    await deliver(transport);
    await sink.until(({ quits, connectionsOpen }) => quits === 1 && connectionsOpen === 0);
    expect(await deliver(transport)).toMatchObject({ kind: "accepted" });
    expect(sink.record.connections).toBe(2);
  });
});

describe("bounds", () => {
  test("connectionsMax holds under 50 sends at once", async () => {
    const sink = await sinkWith();
    const transport = transportTo(sink, { connectionsMax: 3, messagesPerConnectionMax: 7 });
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => deliver(transport)));
    expect(outcomes.every(({ kind }) => kind === "accepted")).toBe(true);
    expect(sink.record.messages).toHaveLength(50);
    expect(sink.record.connectionsOpenMax).toBeLessThanOrEqual(3);
    const counts = Map.groupBy(sink.record.messages, ({ connection }) => connection);
    expect(Math.max(...[...counts.values()].map((messages) => messages.length))).toBe(7);
  });

  test("slots are granted in the order of the requests", async () => {
    const sink = await sinkWith();
    const transport = transportTo(sink, { connectionsMax: 1 });
    const first = await sessionOf(transport);
    const order: number[] = [];
    const later = [1, 2, 3].map(async (number) => {
      const session = await sessionOf(transport);
      order.push(number);
      session.release();
    });
    first.release();
    await Promise.all(later);
    expect(order).toEqual([1, 2, 3]);
    expect(sink.record.connections).toBe(1);
  });

  test("a session abandoned while it waits leaves its slot to the next", async () => {
    const sink = await sinkWith();
    const transport = transportTo(sink, { connectionsMax: 1 });
    const first = await sessionOf(transport);
    const controller = new AbortController();
    const opening = failSession(transport, controller.signal);
    const next = sessionOf(transport);
    controller.abort();
    expect(await opening).toBe("given up while waiting");
    first.release();
    first.release();
    (await next).release();
    expect(sink.record.connectionsOpenMax).toBe(1);
  });

  test("the relay is greeted with the name that was set for it", async () => {
    const names: string[] = [];
    const relay = await scriptedRelay((line) => {
      if (line.startsWith("EHLO ")) names.push(line.slice("EHLO ".length));
      return line.startsWith("QUIT") ? "221 bye" : "250 ok";
    });
    const url = `smtp://127.0.0.1:${relay.port}?ehlo_name=mail.example.com`;
    (await sessionOf(transportTo(relay, parseSmtpUrl(url)))).release();
    expect(names).toEqual(["mail.example.com"]);
  });

  test("a session abandoned while it connects leaves nothing behind", async () => {
    const relay = await scriptedRelay(() => undefined);
    const transport = transportTo(relay, { connectionsMax: 1 });
    const controller = new AbortController();
    const opening = failSession(transport, controller.signal);
    controller.abort();
    expect(await opening).toMatch(/^given up/);
    const sink = await sinkWith();
    expect(await deliver(transportTo(sink))).toMatchObject({ kind: "accepted" });
  });

  test("a session can send one message after another, and a refused one does not harm the next", async () => {
    const sink = await sinkWith({
      rcpt: ({ message }) => (message === 1 ? { code: 550, text: "no" } : undefined),
    });
    const session = await sessionOf(transportTo(sink));
    expect(await session.send(mail(), sendWithin(systemClock, MINUTE_MS))).toMatchObject({ kind: "refused" });
    expect(await session.send(mail(), sendWithin(systemClock, MINUTE_MS))).toMatchObject({
      kind: "accepted",
    });
    session.release();
    expect(sink.record).toMatchObject({ connections: 1, resets: 1 });
  });

  test.each([1, 14, 300])("at most %d turns fit into any second", async (turnsPerSecondMax) => {
    let now = 1_000_000;
    const rateLimiter = createRateLimiter(turnsPerSecondMax, { ...systemClock, monotonicMs: () => now });
    cleanups.push(() => rateLimiter.close());
    const granted: number[] = [];
    for (let step = 0; step < 6_000; step += 1) {
      // Uneven steps, as a busy event loop takes them.
      now += (step * 7) % 5;
      const attempt = new AbortController();
      const turn = rateLimiter.turn(attempt.signal);
      attempt.abort();
      if (await turn) granted.push(now);
    }
    const spans = granted.slice(turnsPerSecondMax).map((time, index) => time - (granted[index] ?? 0));
    expect(Math.min(...spans)).toBeGreaterThanOrEqual(1_000);
    expect(granted.length).toBeGreaterThan(turnsPerSecondMax * 10);
  });

  test("messagesPerSecondMax holds over all connections and sends", async () => {
    const sink = await sinkWith();
    const transport = transportTo(sink, { connectionsMax: 4, messagesPerSecondMax: 100 });
    const started = Date.now();
    await Promise.all(Array.from({ length: 21 }, () => deliver(transport)));
    expect(Date.now() - started).toBeGreaterThanOrEqual(190);
    const session = await sessionOf(transport);
    const before = Date.now();
    for (let count = 0; count < 5; count += 1) await session.send(mail(), sendWithin(systemClock, MINUTE_MS));
    expect(Date.now() - before).toBeGreaterThanOrEqual(30);
    session.release();
    expect(sink.record.messages).toHaveLength(26);
  });
});

describe("close", () => {
  test("ends idle connections, and the others when they are released", async () => {
    const sink = await sinkWith();
    const transport = transportTo(sink, { connectionsMax: 2 });
    const busy = await sessionOf(transport);
    await deliver(transport);
    await transport.close();
    await sink.until(({ connectionsOpen }) => connectionsOpen === 1);
    expect(await failSession(transport)).toBe("the transport is closed");
    expect(await busy.send(mail(), sendWithin(systemClock, MINUTE_MS))).toMatchObject({ kind: "accepted" });
    busy.release();
    await sink.until(({ connectionsOpen }) => connectionsOpen === 0);
    expect(sink.record).toMatchObject({ connections: 2, quits: 2 });
  });

  test("does not wait long for a relay that does not answer QUIT", async () => {
    const relay = await scriptedRelay((line) => (line.startsWith("QUIT") ? undefined : "250 ok"));
    const transport = transportTo(relay);
    (await sessionOf(transport)).release();
    await transport.close();
  }, 4_000);

  test("rejects waiting sessions", async () => {
    const sink = await sinkWith();
    const transport = transportTo(sink, { connectionsMax: 1 });
    const busy = await sessionOf(transport);
    const waiting = failSession(transport);
    await transport.close();
    expect(await waiting).toBe("the transport is closed");
    busy.release();
    await sink.until(({ connectionsOpen }) => connectionsOpen === 0);
  });
});

describe("TLS and AUTH", () => {
  const withTls: SMTPServerOptions = { disabledCommands: ["AUTH"] };

  test("STARTTLS that is required and not offered is broken, and nothing is sent", async () => {
    const sink = await sinkWith();
    const reason = await failSession(transportTo(sink, { starttls: "required" }));
    expect(reason).toContain("STARTTLS");
    await sink.until(({ connectionsOpen }) => connectionsOpen === 0);
    expect(sink.record.mails).toBe(0);
  });

  test.each(["required", "opportunistic"] as const)(
    "STARTTLS that is offered is taken (%s)",
    async (starttls) => {
      const sink = await sinkWith({}, withTls);
      expect(await deliver(transportTo(sink, { starttls }))).toMatchObject({ kind: "accepted" });
      expect(sink.record.messages[0]?.secure).toBe(true);
    },
  );

  test("STARTTLS that is offered but not wanted is not used", async () => {
    const sink = await sinkWith({}, withTls);
    expect(await deliver(transportTo(sink, { starttls: "none" }))).toMatchObject({ kind: "accepted" });
    expect(sink.record.messages[0]?.secure).toBe(false);
  });

  test.each([
    ["certificate_untrusted", RECEIVER_CERTIFICATE],
    ["certificate_expired", EXPIRED_CERTIFICATE],
  ])("a certificate that is not valid is broken when it is to be verified: %s", async (trouble, cert) => {
    const sink = await sinkWith({}, { ...withTls, key: RECEIVER_KEY, cert });
    const transport = transportTo(sink, { starttls: "required", verifyCertificate: true });
    expect(await transport.session(never)).toMatchObject({ kind: "broken", trouble });
    expect(sink.record.mails).toBe(0);
  });

  test("TLS from the first byte", async () => {
    const sink = await sinkWith({}, { secure: true, disabledCommands: ["AUTH"] });
    const transport = createSmtpTransport(parseSmtpUrl(`smtps://127.0.0.1:${sink.port}`), systemClock);
    cleanups.push(() => transport.close());
    expect(await deliver(transport)).toMatchObject({ kind: "accepted" });
    expect(sink.record.messages[0]?.secure).toBe(true);
  });

  const withAuth: SMTPServerOptions = {
    disabledCommands: [],
    authOptional: false,
    onAuth({ username, password }, _session, next) {
      if (username === "post" && password === "lÄ:dger@1") return next(null, { user: username });
      // A relay that quotes its input.
      const quoted = Buffer.from(`\0${username}\0${password}`).toString("base64");
      return next(Object.assign(new Error(`5.7.8 bad login ${quoted} ${password}`), { responseCode: 535 }));
    },
  };

  test("credentials from the URL log in", async () => {
    const sink = await sinkWith({}, withAuth);
    const relay = parseSmtpUrl(`smtp://post:l%C3%84%3Adger%401@127.0.0.1:${sink.port}`);
    expect(await deliver(transportTo(sink, relay))).toMatchObject({ kind: "accepted" });
    expect(sink.record.messages[0]).toMatchObject({ secure: true, user: "post" });
  });

  test("credentials that are refused are broken, and the reason does not hold them", async () => {
    const sink = await sinkWith({}, withAuth);
    const credentials = { user: "post", password: "wr0ng-secret" };
    const reason = await failSession(transportTo(sink, { credentials }));
    expect(reason).toContain("535 5.7.8 bad login <secret> <secret>");
    expect(reason).not.toContain("wr0ng-secret");
    await sink.until(({ connectionsOpen }) => connectionsOpen === 0);
  });

  test.each([
    ["login_refused", "535 5.7.8 Username and Password not accepted"],
    ["login_refused", `534 5.7.9 ${"Application-specific password required. ".repeat(20)}`],
    ["unavailable", "454 4.7.0 Temporary authentication failure"],
    ["unavailable", "432 4.7.12 A password transition is needed"],
    ["unavailable", "421 4.7.0 Try again later"],
  ])("a log-in is %s when the answer is %s", async (trouble, reply) => {
    const relay = await scriptedRelay((line) =>
      line.startsWith("EHLO") ? "250-scripted\r\n250 AUTH PLAIN" : reply,
    );
    const credentials = { user: "post", password: "secret" };
    const result = await transportTo(relay, { credentials }).session(never);
    expect(result).toMatchObject({ kind: "broken", trouble });
  });

  const ACCESS_DENIED = "5.7.1 <anna@example.net>: Recipient address rejected: Access denied";

  test("a relay may want the log-in that it offers until it has taken a message without one", async () => {
    const sink = await sinkWith(
      at("rcpt", ({ message }) => (message === 2 ? undefined : { code: 554, text: ACCESS_DENIED })),
      { disabledCommands: ["STARTTLS"] },
    );
    const transport = transportTo(sink);
    const refusal = { kind: "refused", stage: "rcpt", code: 554, reply: `554 ${ACCESS_DENIED}` } as const;
    expect(await deliver(transport)).toEqual({ ...refusal, mayWantLogin: true });
    expect(await deliver(transport)).toMatchObject({ kind: "accepted" });
    expect(await deliver(transport)).toEqual(refusal);
  });

  test("a relay may begin to want the log-in that it offers, and take mail over an open connection still", async () => {
    let wantsLogin = false;
    const sink = await sinkWith(
      at("rcpt", ({ connection }) =>
        wantsLogin && connection > 1 ? { code: 554, text: ACCESS_DENIED } : undefined,
      ),
      { disabledCommands: ["STARTTLS"] },
    );
    const transport = transportTo(sink);
    const first = await sessionOf(transport);
    const deadline = sendWithin(systemClock, MINUTE_MS);
    expect(await first.send(mail(), deadline)).toMatchObject({ kind: "accepted" });
    wantsLogin = true;
    const refusal = { code: 554, mayWantLogin: true };
    const [one, other] = [crypto.randomUUID(), crypto.randomUUID()];
    for (const id of [one, other, one]) expect(await deliver(transport, mail({ id }))).toMatchObject(refusal);
    expect(await first.send(mail(), deadline)).toMatchObject({ kind: "accepted" });
    expect(await deliver(transport, mail({ id: other }))).toMatchObject(refusal);
    first.release();
  });

  test("a relay that takes other mail over a later connection does not want a log-in, but this message not", async () => {
    const sink = await sinkWith(
      at("rcpt", ({ message }) => (message === 2 ? undefined : { code: 554, text: ACCESS_DENIED })),
      { disabledCommands: ["STARTTLS"] },
    );
    const transport = transportTo(sink, { messagesPerConnectionMax: 1 });
    const id = crypto.randomUUID();
    expect(await deliver(transport, mail({ id }))).toHaveProperty("mayWantLogin");
    expect(await deliver(transport)).toMatchObject({ kind: "accepted" });
    expect(await deliver(transport, mail({ id: crypto.randomUUID() }))).toHaveProperty("mayWantLogin");
    expect(await deliver(transport, mail({ id }))).not.toHaveProperty("mayWantLogin");
  });

  test("a relay does not want a log-in that we have made, or that it does not offer", async () => {
    const refusing = at("rcpt", () => ({ code: 554, text: ACCESS_DENIED }));
    const open = await sinkWith(refusing);
    expect(await deliver(transportTo(open))).not.toHaveProperty("mayWantLogin");
    const sink = await sinkWith(refusing, withAuth);
    const credentials = { user: "post", password: "lÄ:dger@1" };
    expect(await deliver(transportTo(sink, { credentials }))).not.toHaveProperty("mayWantLogin");
  });

  test("credentials for a relay without AUTH are broken", async () => {
    const sink = await sinkWith();
    const reason = await failSession(transportTo(sink, { credentials: { user: "a", password: "b" } }));
    expect(reason).toContain("does not offer AUTH");
  });
});

describe("an unavailable relay", () => {
  test("is broken when nothing listens there", async () => {
    const sink = await startSmtpSink();
    await sink.close();
    // The code is named once.
    expect((await failSession(transportTo(sink))).split("ECONNREFUSED")).toHaveLength(2);
  });

  test("is broken by a greeting that rejects us, and quotes it once", async () => {
    const server = createServer((socket) => {
      // Our client hangs up at once.
      socket.on("error", () => undefined);
      socket.end("554 5.7.1 Your address is blocked\r\n");
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    cleanups.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    expect(await failSession(transportTo({ port }))).toBe(
      "Invalid greeting: 554 5.7.1 Your address is blocked (EPROTOCOL)",
    );
  });

  test("is broken when it does not greet in time", async () => {
    const server = createServer((socket) => socket.on("error", () => undefined));
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    cleanups.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    expect(await failSession(transportTo({ port }, { greetingTimeoutMs: 100 }))).toContain("Greeting");
  });

  test.each([
    ["EHLO", "250-and so on"],
    ["AUTH", "235-and so on"],
  ])("is broken when its reply to %s never ends, although it is never silent", async (command, part) => {
    const relay = await scriptedRelay((line, socket) => {
      if (!line.startsWith(command)) return "250-scripted\r\n250 AUTH PLAIN";
      const timer = setInterval(() => socket.write(`${part}\r\n`), 20);
      socket.once("close", () => clearInterval(timer));
      return part;
    });
    const credentials = { user: "post", password: "secret" };
    const limits = { credentials, setupTimeoutMs: 600, greetingTimeoutMs: 300, commandTimeoutMs: 300 };
    expect(await transportTo(relay, limits).session(never)).toEqual({
      kind: "broken",
      trouble: "unavailable",
      reason: "the relay took too long to set up the connection",
    });
  });

  test("releases its slot", async () => {
    const sink = await startSmtpSink();
    await sink.close();
    const transport = transportTo(sink, { connectionsMax: 1 });
    for (let count = 0; count < 3; count += 1) expect(await failSession(transport)).not.toBe("");
  });

  test("is broken at connect when it goes away between two messages of a session", async () => {
    const sink = await startSmtpSink();
    const session = await sessionOf(transportTo(sink));
    await session.send(mail(), sendWithin(systemClock, MINUTE_MS));
    await sink.close();
    const outcome = await session.send(mail(), sendWithin(systemClock, MINUTE_MS));
    expect(outcome).toMatchObject({ kind: "broken", stage: "connect" });
    session.release();
  });
});

describe("what the relay does not support", () => {
  const to = "пошта@xn--e1afmkfd.example";

  test("a non-ASCII local part goes with SMTPUTF8", async () => {
    const sink = await sinkWith();
    expect(await deliver(transportTo(sink), mail({ to }))).toMatchObject({ kind: "accepted" });
    expect(sink.record.messages[0]?.parameters).toMatchObject({ SMTPUTF8: true });
    expect(sink.record.messages[0]?.raw.toString()).toContain("To: пошта@");
  });

  test.each([
    ["rcpt", { to }],
    ["mail", { from: "заказы@example.com" }],
  ])("without SMTPUTF8 it is refused at %s, and nothing is said to the relay", async (stage, parts) => {
    const sink = await sinkWith({}, { hideSMTPUTF8: true });
    const transport = transportTo(sink);
    const outcome = await deliver(transport, mail(parts));
    expect(outcome).toMatchObject({
      kind: "refused",
      stage,
      code: 553,
      reply: expect.stringContaining("5.6.7"),
    });
    expect(sink.record.mails).toBe(0);
    expect(await deliver(transport)).toMatchObject({ kind: "accepted" });
    expect(sink.record.connections).toBe(1);
  });

  test("a message above the relay's SIZE is refused", async () => {
    const sink = await sinkWith({}, { size: 2_000 });
    const outcome = await deliver(transportTo(sink), mail({ text: "long ".repeat(1_000) }));
    expect(outcome).toMatchObject({ kind: "refused", stage: "mail", code: 552 });
    expect(sink.record.mails).toBe(0);
  });

  test.each(["a@b.example>\r\nRCPT TO:<c@d.example", "<a@b.example>"])(
    "%j cannot be an address",
    async (address) => {
      const sink = await sinkWith();
      const outcome = await deliver(transportTo(sink), mail({ to: address }));
      expect(outcome).toMatchObject({ kind: "refused", stage: "rcpt", code: 553 });
      expect(sink.record.mails).toBe(0);
    },
  );
});

describe("parseSmtpUrl", () => {
  const remote = { starttls: "required", verifyCertificate: true, implicitTls: false } as const;
  const local = { starttls: "opportunistic", verifyCertificate: false, implicitTls: false } as const;
  test.each([
    ["smtp://mail.example.com", { host: "mail.example.com", port: 587, ...remote }],
    ["smtp://mail.example.com:2525/", { host: "mail.example.com", port: 2525, ...remote }],
    [
      "smtp://mail.example.com?tls=none",
      { host: "mail.example.com", port: 587, ...remote, starttls: "none" as const },
    ],
    ["smtps://mail.example.com", { host: "mail.example.com", port: 465, ...remote, implicitTls: true }],
    ["smtp://localhost:1025", { host: "localhost", port: 1025, ...local }],
    ["smtp://LocalHost:1025", { host: "LocalHost", port: 1025, ...local }],
    ["smtp://127.9.8.7", { host: "127.9.8.7", port: 587, ...local }],
    ["smtp://[::1]:25", { host: "::1", port: 25, ...local }],
    ["smtp://[::1]:25?tls=required", { host: "::1", port: 25, ...local, starttls: "required" as const }],
    ["smtp://127.0.0.1.example.com", { host: "127.0.0.1.example.com", port: 587, ...remote }],
    [
      "smtp://u%40x:p%3A%2F@h",
      { host: "h", port: 587, ...remote, credentials: { user: "u@x", password: "p:/" } },
    ],
    [
      "smtp://h?provider=postmark&message_stream=broad-casts_2",
      {
        host: "h",
        port: 587,
        ...remote,
        provider: { name: "postmark" as const, messageStream: "broad-casts_2" },
      },
    ],
    [
      "smtp://h?provider=mailgun",
      { host: "h", port: 587, ...remote, provider: { name: "mailgun" as const } },
    ],
    [
      "smtp://h?provider=sendgrid",
      { host: "h", port: 587, ...remote, provider: { name: "sendgrid" as const } },
    ],
  ])("%s", (url, options) => {
    expect(parseSmtpUrl(url)).toEqual(options);
  });

  test.each([
    "mail.example.com",
    "http://u:s3cret@h",
    "smtp://",
    "smtp://u:s3cret@",
    "smtp://u:s3cret@h:99999",
    "smtp://u:s3cret@h:0",
    "smtp://u:s3cret@h/path",
    "smtp://u:s3cret@h#x",
    "smtp://u@h",
    "smtp://:s3cret@h",
    "smtp://u:s3cret%zz@h",
    "smtp://u:s3cret%0d%0a@h",
    "smtp://u:s3cret@h?tls=maybe",
    "smtp://u:s3cret@h?tls=opportunistic",
    "smtp://u:s3cret@h?tls=none&tls=required",
    "smtp://u:s3cret@h?pool=true",
    "smtp://u:s3cret@h?message_stream=outbound",
    "smtp://u:s3cret@h?provider=ses&configuration_set=shop&message_stream=outbound",
    "smtp://u:s3cret@h?provider=postmark&message_stream=",
    "smtp://u:s3cret@h?provider=postmark&message_stream=a%0d%0aBcc:%20eve@example.com",
    "smtp://u:s3cret@h?provider=postmark&configuration_set=shop",
    "smtp://u:s3cret@h?provider=mailgun&message_stream=outbound",
    "smtp://u:s3cret@h?provider=mailgun&configuration_set=shop",
    "smtps://u:s3cret@h?tls=none",
    "smtp://u:s3cret@exa mple",
    "smtp://u:s3cret@bücher.example",
  ])("%s is refused without telling the password", (url) => {
    let message = "";
    try {
      parseSmtpUrl(url);
    } catch (error) {
      message = Bun.inspect(error);
    }
    expect(message).toContain("the SMTP URL is malformed");
    expect(
      message
        .split("\n")
        .filter((line) => !/^\s*\d+ \|/.test(line))
        .join("\n"),
    ).not.toContain("s3cret");
  });
});

describe("the outbox", () => {
  async function outbox(): Promise<{ directory: string; transport: MailTransport }> {
    const parent = await mkdtemp(join(tmpdir(), "outbox-"));
    cleanups.push(() => rm(parent, { recursive: true }));
    const directory = join(parent, "data", "outbox");
    return { directory, transport: createEmlFileTransport({ directory, sessionsMax: 2 }, systemClock) };
  }

  test("holds the bytes that SMTP would have sent, for its owner only", async () => {
    const { directory, transport } = await outbox();
    expect(await deliver(transport)).toMatchObject({ kind: "accepted" });
    const path = join(directory, `${ID}.eml`);
    expect((await readFile(path)).equals(buildMime(mail()))).toBe(true);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    const sink = await sinkWith();
    await deliver(transportTo(sink));
    expect(sink.record.messages[0]?.raw.equals(await readFile(path))).toBe(true);
  });

  test("has one complete file for a message, however often it is written", async () => {
    const { directory, transport } = await outbox();
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => deliver(transport)));
    expect(outcomes.every(({ kind }) => kind === "accepted")).toBe(true);
    expect(await readdir(directory)).toEqual([`${ID}.eml`]);
  });

  test("is broken on a disk fault, and leaves nothing half-written", async () => {
    const { directory, transport } = await outbox();
    await mkdir(join(directory, `${ID}.eml`), { recursive: true });
    const outcome = await deliver(transport);
    expect(outcome).toMatchObject({ kind: "broken", stage: "data" });
    expect(JSON.stringify(outcome)).not.toContain(directory);
    expect(await readdir(directory)).toEqual([`${ID}.eml`]);
    await rm(directory, { recursive: true });
    await writeFile(directory, "");
    expect(await deliver(transport)).toMatchObject({ kind: "broken" });
  });

  test("is recreated after it was removed", async () => {
    const { directory, transport } = await outbox();
    await deliver(transport);
    await rm(directory, { recursive: true });
    expect(await deliver(transport)).toMatchObject({ kind: "accepted" });
  });

  test("writes nothing after the deadline, nor outside of its directory", async () => {
    const { directory, transport } = await outbox();
    expect(await deliver(transport, mail(), sendWithin(systemClock, 0))).toEqual({ kind: "outOfTime" });
    expect(await deliver(transport, mail({ id: "../../escaped" }))).toMatchObject({ kind: "broken" });
    expect(await stat(directory).catch(() => "missing")).toBe("missing");
  });

  test("opens sessions up to its bound, and none once closed", async () => {
    const { transport } = await outbox();
    const sessions = [await sessionOf(transport), await sessionOf(transport)];
    const controller = new AbortController();
    const third = failSession(transport, controller.signal);
    controller.abort();
    expect(await third).toBe("given up while waiting");
    for (const session of sessions) session.release();
    await transport.close();
    expect(await failSession(transport)).toBe("the transport is closed");
  });
});
