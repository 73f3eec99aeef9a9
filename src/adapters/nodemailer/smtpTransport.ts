import { LRUCache } from "lru-cache";
import type { MailOutcome, RelayFault } from "../../kernel/outcome/mailOutcome.ts";
import { isObject, parseJson } from "../../kernel/text/json.ts";
import { type Clock, leftMs } from "../../ports/clock.ts";
import type {
  MailMessage,
  MailSession,
  MailTransport,
  SendDeadlines,
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
} from "./relayConnection.ts";
import { RELAY_LIMITS_DEFAULT } from "./relayLimitsAndTimeouts.ts";
import { createSemaphore, type Semaphore } from "./semaphore.ts";
import type { RelayProvider, SmtpOptions } from "./smtpRelay.ts";
import { type OutgoingMail, timerMs, transmit } from "./smtpTransaction.ts";

/** Messages whose refusals are remembered: those that wait for a log-in, the last ones. */
const REFUSED_REMEMBERED_MAX = 10_000;

/** What the sessions of one transport share. */
interface Pool {
  readonly settings: RelaySettings;
  readonly clock: Clock;
  /** One permit for each connection that may be open. */
  readonly permits: Semaphore;
  readonly pace: RateLimiter;
  readonly idle: IdleConnections;
  /** The number of the newest connection over which the relay has accepted a message; 0 before the first. */
  newestTaking: number;
  /** By message: the number of the first connection over which the relay has refused it for good. */
  readonly refusedOver: LRUCache<string, number>;
  closed: boolean;
}

export interface RelayTransport extends MailTransport {
  /** About how long others wait before one more session; 0 if a connection is free and nobody waits for the rate. */
  readonly backlogMs: number;
  /** How many connections are in use now. */
  readonly sessionsInUse: number;
  /** As `session`, but null if `isWanted` says no when the limits permit the session. */
  sessionIf(isWanted: () => boolean, signal: AbortSignal): Promise<SessionResult | null>;
}

/**
 * Mail over SMTP (RFC 5321) to one relay. We have our own pool, because nodemailer's resends a message by itself when a
 * connection breaks, and then nobody knows how often it was sent.
 */
export function createSmtpTransport(options: SmtpOptions, clock: Clock): RelayTransport {
  const settings = { ...RELAY_LIMITS_DEFAULT, ...options };
  const permits = createSemaphore(settings.connectionsMax);
  const pool: Pool = {
    settings,
    clock,
    permits,
    pace: createRateLimiter(settings.messagesPerSecondMax, clock),
    idle: createIdleConnections(settings.idleMs, permits),
    newestTaking: 0,
    refusedOver: new LRUCache({ max: REFUSED_REMEMBERED_MAX }),
    closed: false,
  };
  return {
    name: "smtp",
    sessionsMax: settings.connectionsMax,
    get backlogMs() {
      return permits.taken === settings.connectionsMax ? Number.MAX_VALUE : pool.pace.backlogMs;
    },
    get sessionsInUse() {
      return permits.taken;
    },
    session: async (signal) => (await openSession(pool, () => true, signal)) ?? broken(turnedAway(pool)),
    sessionIf: (isWanted, signal) => openSession(pool, isWanted, signal),
    async close() {
      pool.closed = true;
      permits.close();
      pool.pace.close();
      await pool.idle.close();
    },
  };
}

async function openSession(
  pool: Pool,
  isWanted: () => boolean,
  signal: AbortSignal,
): Promise<SessionResult | null> {
  const { permits, pace, idle, settings } = pool;
  const without = (result: SessionResult | null) => {
    permits.give();
    return result;
  };
  if (!(await permits.take(signal))) return broken(turnedAway(pool));
  if (!isWanted()) return without(null);
  if (!(await pace.turn(signal))) return without(broken(turnedAway(pool)));
  if (!isWanted()) return without(null);
  const connection = idle.take() ?? (await openRelayConnection(settings, signal));
  if ("trouble" in connection) return without(broken(connection));
  return { kind: "session", session: createSession(pool, connection) };
}

function turnedAway(pool: Pool): RelayFault {
  return {
    trouble: "unavailable",
    reason: pool.closed ? "the transport is closed" : "given up while waiting",
  };
}

function broken(fault: RelayFault): SessionResult {
  return { kind: "broken", ...fault };
}

function createSession(pool: Pool, first: RelayConnection): MailSession {
  const { clock, settings, pace } = pool;
  let connection: RelayConnection | undefined = first;
  let released = false;
  // The first message took its turn in `session`; each later one waits for its own.
  let turnTaken = true;

  /** A connection ready for a message, or what prevents one. */
  async function prepare(signal: AbortSignal): Promise<RelayConnection | RelayFault> {
    if (!turnTaken && !(await pace.turn(signal))) return turnedAway(pool);
    if (connection?.needsReset) await resetRelayConnection(connection);
    if (connection && isReady(pool, connection)) return connection;
    if (connection) await quitRelayConnection(connection);
    return openRelayConnection(settings, signal);
  }

  async function attempt(outgoing: OutgoingMail, deadlines: SendDeadlines): Promise<MailOutcome> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), timerMs(leftMs(clock, deadlines.handover)));
    const prepared = await prepare(late.signal);
    clearTimeout(timer);
    connection = "trouble" in prepared ? undefined : prepared;
    if ("trouble" in prepared) {
      return late.signal.aborted
        ? { kind: "outOfTime" }
        : { kind: "broken", stage: "connect", reason: prepared.reason };
    }
    turnTaken = true;
    const reused = prepared.messages > 0;
    const outcome = await transmit(prepared, outgoing, { ...settings, clock, deadlines });
    // An idle connection may be dead without our knowing. Nothing was sent yet, so the message gets a new
    // connection. That one is not reused, so this ends after one repeat.
    if (reused && wasDead(outcome)) return attempt(outgoing, deadlines);
    if (outcome.kind === "accepted") pool.newestTaking = Math.max(pool.newestTaking, prepared.number);
    return outcome;
  }

  const login = loginOf(pool, first);
  return {
    ...(login === undefined ? {} : { login }),
    async send(message, deadlines) {
      if (leftMs(clock, deadlines.handover) <= 0) return { kind: "outOfTime" };
      try {
        const outcome = await attempt(await outgoingOf(message, settings), deadlines);
        return connection === undefined ? outcome : withLoginDoubt(pool, connection, message.id, outcome);
      } catch (error) {
        // Only a bug can get here, and only before anything was sent, because `transmit` does not throw.
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

/** Tags that SES accepts: names and values of letters, digits, hyphens and underscores. */
const SES_TAGS = /^[\w-]+=[\w-]+(?:, ?[\w-]+=[\w-]+)*$/;

/** The name in a caller's labels that would make an event name another message. */
const OUR_NAME = /postledger_id/i;

/** The value of one of the caller's headers; "" without it. */
function headerOf({ headers = {} }: MailMessage, lowerName: string): string {
  return Object.entries(headers).find(([name]) => name.toLowerCase() === lowerName)?.[1] ?? "";
}

/**
 * The fields that make a provider return our id in its events, or choose the stream for the message. It removes them
 * from the message, except Mailgun, which passes them on.
 */
function providerFields(
  message: MailMessage,
  provider: RelayProvider | undefined,
): Readonly<Record<string, string>> {
  const { id } = message;
  switch (provider?.name) {
    case undefined:
      return {};
    case "postmark":
      return {
        "X-PM-Metadata-postledger_id": id,
        "X-PM-KeepID": "true",
        ...(provider.messageStream === undefined ? {} : { "X-PM-Message-Stream": provider.messageStream }),
      };
    case "mailgun":
      return { "X-Mailgun-Variables": JSON.stringify({ postledger_id: id }) };
    case "sendgrid":
      return { "X-SMTPAPI": JSON.stringify({ unique_args: { postledger_id: id } }) };
    case "ses": {
      const given = headerOf(message, "x-ses-message-tags");
      const tags = SES_TAGS.test(given) && !OUR_NAME.test(given) ? `, ${given}` : "";
      return {
        "X-SES-CONFIGURATION-SET": provider.configurationSet,
        "X-SES-MESSAGE-TAGS": `postledger_id=${id}${tags}`,
      };
    }
  }
}

/**
 * The names of the caller's headers that ours replace. Mailgun joins the variables of several headers, so the caller's
 * stay if they are variables that it can read.
 */
function replacedHeaders(
  message: MailMessage,
  provider: RelayProvider | undefined,
  ours: Readonly<Record<string, string>>,
): readonly string[] {
  const variables = provider?.name === "mailgun" ? parseJson(headerOf(message, "x-mailgun-variables")) : null;
  const areKept = isObject(variables) && !OUR_NAME.test(JSON.stringify(variables));
  return areKept ? [] : Object.keys(ours);
}

/** The message without these headers: if there were two of one, nobody would know which one counts. */
function withoutHeaders(message: MailMessage, names: readonly string[]): MailMessage {
  if (message.headers === undefined || names.length === 0) return message;
  const removed = new Set(names.map((name) => name.toLowerCase()));
  const kept = Object.entries(message.headers).filter(([name]) => !removed.has(name.toLowerCase()));
  return { ...message, headers: Object.fromEntries(kept) };
}

async function outgoingOf(message: MailMessage, settings: RelaySettings): Promise<OutgoingMail> {
  const { from, to, returnPath } = message;
  const { replacesReturnPath, isUnsigned, signer, provider } = settings;
  const ours = providerFields(message, provider);
  const built = buildMime(withoutHeaders(message, replacedHeaders(message, provider, ours)));
  const signed = signer && !isUnsigned ? await signer.sign(built, from) : built;
  // Not signed, because most providers remove these fields.
  const fields = Object.entries(ours).map(([name, value]) => `${name}: ${value}\r\n`);
  const bytes = fields.length === 0 ? signed : Buffer.concat([Buffer.from(fields.join("")), signed]);
  if (returnPath === undefined || replacesReturnPath) return { from, to, bytes };
  return { from: returnPath, to, bytes, wantsReports: true };
}

/**
 * Whether the relay was gone before it answered MAIL FROM. With a 421 at that point a relay ends an idle connection
 * (RFC 5321 §3.8); if it means "go away", the next connection gets it again.
 */
function wasDead(outcome: MailOutcome): boolean {
  if (outcome.kind === "refused") return outcome.stage === "mail" && outcome.code === 421;
  return outcome.kind === "broken" && outcome.stage === "mail";
}

function loginOf({ settings }: Pool, { transcript }: RelayConnection): MailSession["login"] {
  if (settings.credentials) return "accepted";
  return transcript.offersLogin ? "unused" : undefined;
}

/**
 * A relay that offers a log-in may have begun to refuse all mail without one. The refusal is about this message only if
 * the relay has taken other mail since: over the same connection, or one opened later than the first that refused it. An
 * earlier one proves nothing: relays carry on with open connections as they were.
 */
function withLoginDoubt(
  pool: Pool,
  connection: RelayConnection,
  id: string,
  outcome: MailOutcome,
): MailOutcome {
  if (outcome.kind !== "refused" || loginOf(pool, connection) !== "unused") return outcome;
  const refusedOver = pool.refusedOver.get(id) ?? connection.number;
  if (outcome.code >= 500) pool.refusedOver.set(id, refusedOver);
  return pool.newestTaking < refusedOver ? { ...outcome, mayWantLogin: true } : outcome;
}

/** Whether the connection can carry another message as it is. */
function isReady(pool: Pool, connection: RelayConnection): boolean {
  const { ended, needsReset, messages } = connection;
  return !ended && !needsReset && messages < pool.settings.messagesPerConnectionMax;
}

/** Keeps the connection if it can be reused; otherwise holds its permit until the relay has closed it. */
async function giveBack(pool: Pool, connection: RelayConnection | undefined): Promise<void> {
  if (connection?.needsReset) await resetRelayConnection(connection);
  if (connection && !pool.closed && isReady(pool, connection)) pool.idle.put(connection);
  else if (connection) await quitRelayConnection(connection);
  pool.permits.give();
}
