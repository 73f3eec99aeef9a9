import { Duplex, Readable } from "node:stream";
import { startTimeout } from "../../kernel/concurrency/stallSafeTimeout.ts";
import type { MailOutcome, MailStage } from "../../kernel/outcome/mailOutcome.ts";
import { excerpt } from "../../kernel/text/textLength.ts";
import { type Clock, type Deadline, leftMs } from "../../ports/clock.ts";
import type { SendDeadlines } from "../../ports/mail/mailTransport.ts";
import { type RelayConnection, reasonOf, type SmtpError, setSilenceMax } from "./relayConnection.ts";

/** How much of a relay's reply to keep in an outcome. */
const REPLY_CHARS_MAX = 1_000;
/** The only reply to DATA after which content may be sent (RFC 5321 §4.3.2). */
const START_MAIL_INPUT = 354;
/** A timer with a longer delay fires at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** A message as sent over the wire. */
export interface OutgoingMail {
  readonly from: string;
  readonly to: string;
  readonly bytes: Buffer;
  /** Whether we read mail returned to `from`. If so, ask only for failure reports, with the headers of the message. */
  readonly wantsReports?: true;
}

/** How long one transmission may take, and by which clock. */
interface TransmissionTimeouts {
  readonly clock: Clock;
  /** When the one that applies passes, the connection is destroyed. */
  readonly deadlines: SendDeadlines;
  readonly commandTimeoutMs: number;
  readonly finalReplyTimeoutMs: number;
}

/**
 * The content for nodemailer. It is a stream, because nodemailer reads a stream only once the relay has answered DATA.
 * Nothing ever flows through it; `pipe` hands everything over at once.
 */
class Content extends Readable {
  /** nodemailer's dot-stuffing stream, once it has the content. */
  private encoder: NodeJS.WritableStream | undefined;

  constructor(
    private readonly bytes: Buffer,
    private readonly mayBegin: () => boolean,
  ) {
    super();
  }

  get begun(): boolean {
    return this.encoder !== undefined;
  }

  /**
   * Whether the final dot may have reached the socket. The encoder writes the dot last, after all content, so while it
   * buffers anything on either side, the dot is not out.
   */
  get dotMayBeOut(): boolean {
    if (!this.encoder) return false;
    if (!(this.encoder instanceof Duplex)) return true;
    return this.encoder.writableLength === 0 && this.encoder.readableLength === 0;
  }

  override pipe<Destination extends NodeJS.WritableStream>(destination: Destination): Destination {
    if (!this.mayBegin()) return destination;
    this.encoder = destination;
    destination.end(this.bytes);
    return destination;
  }
}

/**
 * Sends one message over a connection that is ready for it (RFC 5321 §3.3). Never throws, and always ends by the
 * deadline of the reply; by that of the handover, if the final dot is not out by then. Closes the connection unless it
 * can be reused.
 */
export function transmit(
  connection: RelayConnection,
  outgoing: OutgoingMail,
  timeouts: TransmissionTimeouts,
): Promise<MailOutcome> {
  const refusal = refusalBeforeSending(connection, outgoing);
  if (refusal) return Promise.resolve(refusal);
  const { smtp, transcript } = connection;
  const { clock, deadlines } = timeouts;
  return new Promise((resolve) => {
    const settle = (outcome: MailOutcome): void => {
      for (const stop of timers) stop();
      smtp.off("end", onEnd);
      conclude(connection, outcome, content.begun && !content.dotMayBeOut);
      resolve(outcome);
    };
    const lost = (reason: string): void => settle(outcomeWithoutReply(transcript.replies, content, reason));
    const outOfTime = (): void =>
      content.begun ? lost("the deadline passed while the content was sent") : settle({ kind: "outOfTime" });
    const at = (deadline: Deadline, act: () => void) => startTimeout(timerMs(leftMs(clock, deadline)), act);
    const content = new Content(outgoing.bytes, () => {
      const isAsked = transcript.lastCode === START_MAIL_INPUT;
      const mayBegin = isAsked && leftMs(clock, deadlines.handover) > 0;
      if (mayBegin) setSilenceMax(connection, timeouts.finalReplyTimeoutMs);
      else if (isAsked) outOfTime();
      else settle(notAsked(transcript.lastCode));
      return mayBegin;
    });
    // nodemailer ends the connection before it reports why, so wait for the report.
    const onEnd = (): unknown => setImmediate(lost, "the connection ended");
    const timers = [
      at(deadlines.handover, () => content.dotMayBeOut || outOfTime()),
      at(deadlines.reply, outOfTime),
    ];
    transcript.replies = 0;
    connection.messages += 1;
    smtp.once("end", onEnd);
    setSilenceMax(connection, timeouts.commandTimeoutMs);
    const { from, to, bytes, wantsReports } = outgoing;
    // RFC 3461, for relays that offer it.
    const dsn = wantsReports ? { dsn: { ret: "HDRS" as const, notify: "FAILURE" as const } } : {};
    const envelope = { from, to, size: bytes.length, ...dsn };
    smtp.send(envelope, content, (error, info) => {
      if (error) settle(outcomeOfError(error, transcript.replies, content));
      else if (content.dotMayBeOut) settle({ kind: "accepted", reply: oneLine(info?.response ?? "") });
      else lost("the relay accepted the message before its end");
    });
  });
}

/** A delay within the range of `setTimeout`. */
export function timerMs(delayMs: number): number {
  return Math.min(Math.max(delayMs, 0), TIMER_MS_MAX);
}

/** Closes the connection after anything but a clean answer, because nobody knows what the relay expects next. */
function conclude(connection: RelayConnection, outcome: MailOutcome, cutShort: boolean): void {
  const clean = outcome.kind === "accepted" || (outcome.kind === "refused" && outcome.code !== 421);
  if (!clean || cutShort) connection.smtp.close();
  else if (outcome.kind === "refused") connection.needsReset = true;
}

/**
 * nodemailer sends the content after any 2xx too. Such a reply answers another command than DATA when the relay has sent
 * one reply too many, and then the final reply would be taken for that of a message which the relay refuses.
 */
function notAsked(code: number): MailOutcome {
  return { kind: "broken", stage: "data", reason: `the relay answered DATA with ${code}, not with 354` };
}

/** The SMTP commands of a transaction in order, to find the one that got no answer. */
const STAGES: readonly MailStage[] = ["mail", "rcpt", "data"];

function outcomeWithoutReply(replies: number, content: Content, reason: string): MailOutcome {
  if (content.dotMayBeOut) return { kind: "unknown", reason };
  return { kind: "broken", stage: STAGES[replies] ?? "data", reason };
}

function outcomeOfError(error: SmtpError, replies: number, content: Content): MailOutcome {
  const { responseCode: code, response } = error;
  if (code === undefined && error.code === "EMESSAGE" && error.command === "MAIL FROM") {
    // nodemailer itself compares the message with the relay's SIZE, without asking the relay.
    return refused("mail", 552, "5.3.4 the message is larger than the relay takes (RFC 1870)");
  }
  // EPROTOCOL is a reply to none of our commands, so it says nothing about the message.
  if (code === undefined || code < 400 || code > 599 || error.code === "EPROTOCOL") {
    return outcomeWithoutReply(replies, content, reasonOf(error));
  }
  return { kind: "refused", stage: refusedStage(error, replies), code, reply: oneLine(response ?? "") };
}

function refusedStage(error: SmtpError, replies: number): MailStage {
  switch (error.command) {
    case "MAIL FROM":
      return "mail";
    case "RCPT TO":
      return "rcpt";
    case "DATA":
      return error.code === "EMESSAGE" ? "final" : "data";
    default:
      // The relay closed the connection with this reply, which answers the first pending command.
      return STAGES[replies - 1] ?? "final";
  }
}

/** A reply in one line: the code once, then the lines joined by spaces (RFC 5321 §4.2.1). */
function oneLine(reply: string): string {
  const [first = "", ...rest] = reply.split(/\r?\n/);
  const lines = [first.replace(/^(\d{3})-/, "$1 "), ...rest.map((line) => line.replace(/^\d{3}[ -]?/, ""))];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a relay's reply may hold anything.
  const text = lines.join(" ").replace(/[\x00-\x1f\x7f]+/g, " ");
  return excerpt(text.trim(), REPLY_CHARS_MAX);
}

/**
 * Refuses what a relay would refuse or SMTP cannot express, in the RFC's words that a relay would use. nodemailer
 * itself sends non-ASCII addresses to any relay, with or without SMTPUTF8.
 */
function refusalBeforeSending(connection: RelayConnection, outgoing: OutgoingMail): MailOutcome | undefined {
  for (const [stage, address] of [
    ["mail", outgoing.from],
    ["rcpt", outgoing.to],
  ] as const) {
    if (/[\r\n\0<>]/.test(address) || address === "") {
      return refused(stage, 553, "5.1.3 the address cannot stand in an SMTP command");
    }
    if (/[\u0080-\uffff]/.test(address) && !connection.transcript.offersSmtpUtf8) {
      return refused(
        stage,
        553,
        "5.6.7 the address needs SMTPUTF8, which the relay does not offer (RFC 6531)",
      );
    }
  }
  return undefined;
}

function refused(stage: MailStage, code: number, text: string): MailOutcome {
  return { kind: "refused", stage, code, reply: `${code} ${text}` };
}
