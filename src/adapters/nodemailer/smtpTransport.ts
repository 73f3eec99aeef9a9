import type { MailOutcome } from "../../kernel/outcome/mailOutcome.ts";
import type { EpochMs } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";
import type {
  MailMessage,
  MailSession,
  MailTransport,
  SessionResult,
} from "../../ports/mail/mailTransport.ts";
import { createIdleConnections, type IdleConnections } from "./idleConnections.ts";
import { buildMime } from "./mimeMessage.ts";
import { createRateLimiter, type RateLimiter } from "./rateLimiter.ts";
import {
  openRelayConnection,
  quitRelayConnection,
  type RelayConnection,
  type RelaySettings,
  resetRelayConnection,
  troubleOf,
} from "./relayConnection.ts";
import { createSemaphore, type Semaphore } from "./semaphore.ts";
import { type RelayProvider, SMTP_DEFAULTS, type SmtpOptions } from "./smtpOptions.ts";
import { type OutgoingMail, timerMs, transmit } from "./smtpTransaction.ts";

/** What all sessions of one transport share. */
interface Pool {
  readonly settings: RelaySettings;
  readonly clock: Clock;
  /** One permit for each connection that may be open. */
  readonly permits: Semaphore;
  readonly pace: RateLimiter;
  readonly idle: IdleConnections;
  closed: boolean;
}

/**
 * Mail over SMTP (RFC 5321) to one relay. The pool is our own: nodemailer's sends a message again by itself
 * when a connection breaks, and then nobody knows how often it was sent.
 */
export function createSmtpTransport(options: SmtpOptions, clock: Clock): MailTransport {
  const settings = { ...SMTP_DEFAULTS, ...options };
  const permits = createSemaphore(settings.connectionsMax);
  const pool: Pool = {
    settings,
    clock,
    permits,
    pace: createRateLimiter(settings.messagesPerSecondMax, clock),
    idle: createIdleConnections(settings.idleMs, permits),
    closed: false,
  };
  return {
    name: "smtp",
    sessionsMax: settings.connectionsMax,
    session: (signal) => openSession(pool, signal),
    async close() {
      pool.closed = true;
      permits.close();
      pool.pace.close();
      await pool.idle.close();
    },
  };
}

async function openSession(pool: Pool, signal: AbortSignal): Promise<SessionResult> {
  const { permits, pace, idle, settings } = pool;
  if (!(await permits.take(signal))) return turnedAway(pool);
  if (!(await pace.turn(signal))) {
    permits.give();
    return turnedAway(pool);
  }
  const connection = idle.take() ?? (await openRelayConnection(settings, signal));
  if (typeof connection === "string") {
    permits.give();
    return { kind: "broken", trouble: troubleOf(connection), reason: connection };
  }
  return { kind: "session", session: createSession(pool, connection) };
}

function turnedAway(pool: Pool): SessionResult {
  const reason = pool.closed ? "the transport is closed" : "given up while waiting";
  return { kind: "broken", trouble: "unavailable", reason };
}

function createSession(pool: Pool, first: RelayConnection): MailSession {
  const { clock, settings, pace } = pool;
  let connection: RelayConnection | undefined = first;
  let released = false;
  // The first message had its turn in `session`; each one after it waits for its own.
  let turnTaken = true;

  /** A connection that is ready for a message, or the reason why there is none. */
  async function prepare(signal: AbortSignal): Promise<RelayConnection | string> {
    if (!turnTaken && !(await pace.turn(signal))) return "given up while waiting";
    if (connection?.needsReset) await resetRelayConnection(connection);
    if (connection && isReady(pool, connection)) return connection;
    if (connection) await quitRelayConnection(connection);
    return openRelayConnection(settings, signal);
  }

  async function attempt(outgoing: OutgoingMail, deadline: EpochMs): Promise<MailOutcome> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), timerMs(deadline - clock.now()));
    const prepared = await prepare(late.signal);
    clearTimeout(timer);
    connection = typeof prepared === "string" ? undefined : prepared;
    if (typeof prepared === "string") {
      return late.signal.aborted
        ? { kind: "outOfTime" }
        : { kind: "broken", stage: "connect", reason: prepared };
    }
    turnTaken = true;
    const reused = prepared.messages > 0;
    const outcome = await transmit(prepared, outgoing, { ...settings, clock, deadline });
    // A connection that lay idle may be long dead without our knowing. Nothing was sent yet, so the message
    // gets a connection that was just opened, and that one is not reused: this ends after one repeat.
    return reused && wasDead(outcome) ? attempt(outgoing, deadline) : outcome;
  }

  return {
    async send(message, deadline) {
      if (clock.now() >= deadline) return { kind: "outOfTime" };
      try {
        return await attempt(await outgoingOf(message, settings), deadline);
      } catch (error) {
        // Only a bug comes here, and only before anything was sent: `transmit` does not throw.
        connection?.smtp.close();
        return { kind: "broken", stage: "connect", reason: `internal: ${String(error)}` };
      } finally {
        turnTaken = false;
      }
    },
    release() {
      if (released) return;
      released = true;
      void giveBack(pool, connection);
    },
  };
}

/** A caller's headers that are ours to write for a provider: of two nobody knows which one counts. */
const OURS_FOR_PROVIDER: Readonly<Record<RelayProvider["name"], readonly string[]>> = {
  postmark: ["x-pm-metadata-postledger_id", "x-pm-keepid"],
  ses: ["x-ses-configuration-set", "x-ses-message-tags"],
};
/** Tags as SES accepts them: names and values of letters, digits, hyphens and underscores. */
const SES_TAGS = /^[\w-]+=[\w-]+(?:, ?[\w-]+=[\w-]+)*$/;

/** The fields by which a provider gives our id back in its events. It takes them out of the message. */
function providerFields({ id, headers = {} }: MailMessage, provider: RelayProvider): string {
  if (provider.name === "postmark") return `X-PM-Metadata-postledger_id: ${id}\r\nX-PM-KeepID: true\r\n`;
  const [, given = ""] =
    Object.entries(headers).find(([name]) => name.toLowerCase() === "x-ses-message-tags") ?? [];
  const tags = SES_TAGS.test(given) && !/postledger_id/i.test(given) ? `, ${given}` : "";
  return `X-SES-CONFIGURATION-SET: ${provider.configurationSet}\r\nX-SES-MESSAGE-TAGS: postledger_id=${id}${tags}\r\n`;
}

/** The message without what is written for the provider in its stead. */
function leftToProvider(message: MailMessage, provider: RelayProvider): MailMessage {
  const { headers } = message;
  if (headers === undefined) return message;
  const ours = OURS_FOR_PROVIDER[provider.name];
  const kept = Object.entries(headers).filter(([name]) => !ours.includes(name.toLowerCase()));
  return { ...message, headers: Object.fromEntries(kept) };
}

async function outgoingOf(message: MailMessage, settings: RelaySettings): Promise<OutgoingMail> {
  const { from, to, returnPath } = message;
  const { replacesReturnPath, isUnsigned, signer, provider } = settings;
  const built = buildMime(provider === undefined ? message : leftToProvider(message, provider));
  const signed = signer && !isUnsigned ? await signer.sign(built, from) : built;
  // Before what is signed: the provider takes these fields out again.
  const bytes =
    provider === undefined ? signed : Buffer.concat([Buffer.from(providerFields(message, provider)), signed]);
  if (returnPath === undefined || replacesReturnPath) return { from, to, bytes };
  return { from: returnPath, to, bytes, wantsReports: true };
}

/**
 * Whether the relay was gone before it answered MAIL FROM. A 421 at that point is how a relay ends a
 * connection that lay idle (RFC 5321 §3.8); one that means "go away" is said again to the next connection.
 */
function wasDead(outcome: MailOutcome): boolean {
  if (outcome.kind === "refused") return outcome.stage === "mail" && outcome.code === 421;
  return outcome.kind === "broken" && outcome.stage === "mail";
}

/** Whether a message can go over the connection as it is. */
function isReady(pool: Pool, connection: RelayConnection): boolean {
  const { ended, needsReset, messages } = connection;
  return !ended && !needsReset && messages < pool.settings.messagesPerConnectionMax;
}

/** Keeps the connection if it can be used again; else its permit is held until the relay has closed it. */
async function giveBack(pool: Pool, connection: RelayConnection | undefined): Promise<void> {
  if (connection?.needsReset) await resetRelayConnection(connection);
  if (connection && !pool.closed && isReady(pool, connection)) pool.idle.put(connection);
  else if (connection) await quitRelayConnection(connection);
  pool.permits.give();
}
