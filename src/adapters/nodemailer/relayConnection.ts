import SMTPConnection from "nodemailer/lib/smtp-connection";
import { afterArrivedInput, startTimeout } from "../../kernel/concurrency/stallSafeTimeout.ts";
import type { RelayFault, RelayTrouble } from "../../kernel/outcome/mailOutcome.ts";
import { excerpt } from "../../kernel/text/textLength.ts";
import type { RelayLimits } from "./relayLimitsAndTimeouts.ts";
import type { SmtpOptions } from "./smtpRelay.ts";

/** Reasons go into events and logs: one line, not a page. */
const REASON_CHARS_MAX = 300;
/** How long to wait for the answer to QUIT or RSET. */
const PARTING_TIMEOUT_MS = 5_000;

/** The options with a value for every limit. */
export type RelaySettings = SmtpOptions & RelayLimits;

/** The members of nodemailer's errors besides the message. */
export interface SmtpError extends Error {
  readonly code?: string | undefined;
  readonly originalCode?: string | undefined;
  readonly command?: string | undefined;
  readonly responseCode?: number | undefined;
  readonly response?: string | undefined;
}

/** What matters of the relay's replies so far. */
interface Transcript {
  /** Complete replies since it was last set to 0. */
  replies: number;
  lastCode: number;
  /** Whether the last EHLO reply named SMTPUTF8 (RFC 6531). */
  offersSmtpUtf8: boolean;
  /** Whether it named AUTH (RFC 4954 §3). */
  offersLogin: boolean;
}

/** A connection that has been greeted, secured and authenticated. */
export interface RelayConnection {
  /** Larger than that of every connection that was opened before it. */
  readonly number: number;
  readonly smtp: SMTPConnection;
  readonly transcript: Transcript;
  /** How many messages were begun over it. */
  messages: number;
  /** Whether a transaction was refused half-way, so that RSET must precede the next one. */
  needsReset: boolean;
  ended: boolean;
  /** Called once when the connection ends, for whatever reason. */
  onEnd: (() => void) | undefined;
}

/** Connections of all transports so far. */
let opened = 0;

/**
 * Connects, waits for the greeting, starts TLS (RFC 3207) and authenticates (RFC 4954). Never throws. Returns what
 * prevents it if there is no connection; the reason contains no credentials.
 */
export async function openRelayConnection(
  settings: RelaySettings,
  signal: AbortSignal,
): Promise<RelayConnection | RelayFault> {
  if (signal.aborted) return unreachable("given up before connecting");
  const transcript: Transcript = { replies: 0, lastCode: 0, offersSmtpUtf8: false, offersLogin: false };
  const smtp = new SMTPConnection({
    host: settings.host,
    port: settings.port,
    ...(settings.ehloName === undefined ? {} : { name: settings.ehloName }),
    secure: settings.implicitTls,
    requireTLS: settings.starttls === "required",
    ignoreTLS: settings.starttls === "none",
    opportunisticTLS: settings.starttls === "opportunistic",
    tls: { rejectUnauthorized: settings.verifyCertificate },
    connectionTimeout: settings.connectTimeoutMs,
    dnsTimeout: settings.connectTimeoutMs,
    greetingTimeout: settings.greetingTimeoutMs,
    socketTimeout: settings.commandTimeoutMs,
    // Destroy the socket instead of ending it: ending flushes its buffer, which may hold the final dot.
    socketCloseTimeout: 0,
    transactionLog: true,
    logger: { debug: transcriber(transcript) },
  });
  const failure = await handshake(smtp, settings, signal);
  if (failure !== undefined) {
    smtp.close();
    return failure;
  }
  readBeforeTimeout(smtp);
  opened += 1;
  const connection: RelayConnection = {
    number: opened,
    smtp,
    transcript,
    messages: 0,
    needsReset: false,
    ended: false,
    onEnd: undefined,
  };
  smtp.once("end", () => {
    connection.ended = true;
    connection.onEnd?.();
  });
  return connection;
}

/**
 * nodemailer's log is its only public interface that shows each command and reply. Its errors do not say how far a
 * pipelined envelope (RFC 2920) got.
 */
function transcriber(transcript: Transcript): (entry: { tnx?: unknown }, line: string) => void {
  let greeting = false;
  return (entry, line) => {
    if (entry.tnx === "client") {
      greeting = line.startsWith("EHLO ");
    } else if (entry.tnx === "server") {
      transcript.replies += 1;
      transcript.lastCode = Number.parseInt(line, 10);
      if (greeting) {
        transcript.offersSmtpUtf8 = /^250[ -]SMTPUTF8\b/im.test(line);
        transcript.offersLogin = /^250[ -]AUTH\b/im.test(line);
      }
      greeting = false;
    }
  };
}

function handshake(
  smtp: SMTPConnection,
  settings: RelaySettings,
  signal: AbortSignal,
): Promise<RelayFault | undefined> {
  return new Promise((resolve) => {
    const settle = (failure?: RelayFault): void => {
      stopTimeout();
      signal.removeEventListener("abort", abandon);
      resolve(failure);
    };
    const fail = (error: SmtpError): void =>
      settle({ trouble: troubleOf(error), reason: redacted(reasonOf(error), settings) });
    const abandon = (): void => settle(unreachable("given up while connecting"));
    const stopTimeout = startTimeout(settings.setupTimeoutMs, () => settle(SETUP_TOO_SLOW));
    signal.addEventListener("abort", abandon);
    // Never removed: an `error` event without a listener would throw.
    smtp.on("error", fail);
    smtp.once("end", () => settle(unreachable("the connection ended while it was set up")));
    smtp.connect((error) => {
      const { credentials } = settings;
      if (error) return fail(error);
      if (!credentials) return settle();
      if (!smtp.allowsAuth) return settle(NO_AUTH);
      smtp.login({ user: credentials.user, pass: credentials.password }, (refusal) =>
        refusal ? fail(refusal) : settle(),
      );
    });
  });
}

/** An error in one line. */
export function reasonOf(error: SmtpError): string {
  const code = error.originalCode ?? error.code;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a relay's reply may hold anything.
  const message = messageOf(error).replace(/[\x00-\x1f\x7f]+/g, " ");
  const isSaid = code === undefined || message.includes(code);
  return excerpt(isSaid ? message : `${message} (${code})`, REASON_CHARS_MAX);
}

const BAD_GREETING = "Invalid greeting";

/** The message with the relay's greeting if nodemailer has refused that. */
function messageOf({ message, response }: SmtpError): string {
  return response !== undefined && message.startsWith(BAD_GREETING)
    ? `${BAD_GREETING}: ${response}`
    : message;
}

const USER_CHARS_MIN = 4;

/** Removes credentials: a relay may quote the refused command, and AUTH contains user and password, plain or base64. */
function redacted(reason: string, settings: RelaySettings): string {
  const { credentials } = settings;
  if (!credentials) return reason;
  const { user, password } = credentials;
  const encoded = [`\0${user}\0${password}`, password, user].map((secret) =>
    Buffer.from(secret).toString("base64"),
  );
  // A short name would be found in the middle of other words.
  const plain = user.length < USER_CHARS_MIN ? [password] : [password, user];
  return [...encoded, ...plain].reduce((text, secret) => text.replaceAll(secret, "<secret>"), reason);
}

const NO_AUTH: RelayFault = {
  trouble: "login_refused",
  reason: "the relay does not offer AUTH here, but credentials are configured",
};
/** It was reached, and says something now and then, so no time-out of silence ends this. */
const SETUP_TOO_SLOW: RelayFault = {
  trouble: "unavailable",
  reason: "the relay took too long to set up the connection",
};

function unreachable(reason: string): RelayFault {
  return { trouble: "unreachable", reason };
}

/** OpenSSL's names for what is wrong with a certificate. What is not listed is trouble with TLS itself, or unknown. */
const CERTIFICATE_TROUBLES: ReadonlyMap<string, RelayTrouble> = new Map([
  ["CERT_HAS_EXPIRED", "certificate_expired"],
  ["CERT_NOT_YET_VALID", "certificate_expired"],
  ["CERT_REVOKED", "certificate_expired"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "certificate_of_other_host"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "certificate_untrusted"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "certificate_untrusted"],
  ["UNABLE_TO_GET_ISSUER_CERT", "certificate_untrusted"],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "certificate_untrusted"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "certificate_untrusted"],
]);

/** The kind of trouble behind an error while a connection is set up. */
function troubleOf(error: SmtpError): RelayTrouble {
  // With a 4xx the relay cannot check the log-in now, and says nothing about it (RFC 4954 §6).
  if (error.code === "EAUTH") return isTransient(error.responseCode) ? "unavailable" : "login_refused";
  const ofCertificate = CERTIFICATE_TROUBLES.get(error.originalCode ?? error.code ?? "");
  if (ofCertificate !== undefined) return ofCertificate;
  if (/STARTTLS|SSL|TLS|certificate|self.signed/i.test(reasonOf(error))) return "tls_failed";
  // A greeting that turns us away, such as 421 or 554 (RFC 5321 §3.1).
  return error.message.startsWith(BAD_GREETING) ? "unavailable" : "unreachable";
}

function isTransient(code = 0): boolean {
  return code >= 400 && code < 500;
}

/**
 * Makes the time-out of silence read the socket once more: nodemailer would give up a reply that has arrived during a
 * stall, and the message would be sent again.
 */
function readBeforeTimeout({ _socket: socket }: SMTPConnection): void {
  if (!socket) return;
  const giveUp = socket.listeners("timeout") as (() => void)[];
  socket.removeAllListeners("timeout");
  socket.on("timeout", () => {
    const { bytesRead } = socket;
    afterArrivedInput(() => {
      if (socket.bytesRead === bytesRead) for (const listener of giveUp) listener();
    });
  });
}

/** How long the relay may be silent from now on; 0 = for ever. */
export function setSilenceMax(connection: RelayConnection, timeoutMs: number): void {
  const socket = connection.smtp._socket;
  if (socket) socket.setTimeout(timeoutMs);
}

/** RSET (RFC 5321 §4.1.1.5). False when the connection did not survive it. Never throws. */
export function resetRelayConnection(connection: RelayConnection): Promise<boolean> {
  if (connection.ended) return Promise.resolve(false);
  return new Promise((resolve) => {
    const timer = setTimeout(() => connection.smtp.close(), PARTING_TIMEOUT_MS);
    const settle = (clean: boolean): void => {
      clearTimeout(timer);
      connection.smtp.off("end", fail);
      connection.needsReset = !clean;
      resolve(clean);
    };
    const fail = (): void => settle(false);
    connection.smtp.once("end", fail);
    connection.smtp.reset((error) => settle(!error));
  });
}

/** QUIT, then waits until the connection has ended, and ends it after `timeoutMs`. Never throws. */
export function quitRelayConnection(
  connection: RelayConnection,
  timeoutMs = PARTING_TIMEOUT_MS,
): Promise<void> {
  if (connection.ended) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => connection.smtp.close(), timeoutMs);
    connection.smtp.once("end", () => {
      clearTimeout(timer);
      resolve();
    });
    connection.smtp.quit();
  });
}
