import { isIPv4, isIPv6 } from "node:net";
import { isHeaderSafe } from "../../kernel/text/text.ts";
import { wholeNumber } from "../../kernel/text/wholeNumber.ts";

/** Which relay, and how it is reached. */
export interface SmtpRelay {
  /** Host name or IP address, without brackets. */
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte (`smtps:`, RFC 8314). */
  readonly implicitTls: boolean;
  /** STARTTLS (RFC 3207): `opportunistic` takes it when offered, `none` never asks for it. */
  readonly starttls: "required" | "opportunistic" | "none";
  /** Whether the relay's certificate must be valid for its host name. */
  readonly verifyCertificate: boolean;
  /** Set where it puts an envelope sender of its own in the place of ours. */
  readonly replacesReturnPath?: true;
  readonly credentials?: { readonly user: string; readonly password: string };
}

/** A relay and the bounds on its use. What is left out has the default of {@link SMTP_DEFAULTS}. */
export interface SmtpOptions extends SmtpRelay, Partial<SmtpBounds> {
  /** What EHLO says we are: a host name or an address literal. Default: this machine's host name. */
  readonly clientName?: string;
}

export interface SmtpBounds {
  /** Connections open at once, idle ones included. */
  readonly connectionsMax: number;
  readonly messagesPerConnectionMax: number;
  /** Messages in any one second, over all connections. 0 = no limit. */
  readonly messagesPerSecondMax: number;
  /** How long a connection is kept without a message before QUIT. */
  readonly idleMs: number;
  /** The whole of connecting: name look-up, TCP, greeting, TLS. */
  readonly connectTimeoutMs: number;
  /** Waiting for the greeting, within `connectTimeoutMs`. */
  readonly greetingTimeoutMs: number;
  /** Silence after any command but the final dot. */
  readonly commandTimeoutMs: number;
  /**
   * Silence once the content is being sent. RFC 5321 §4.5.3.2.6 asks for ten minutes, because a relay that
   * answers after we gave up has the message, and the repeat is a duplicate. The deadline of a send is
   * usually sooner.
   */
  readonly finalReplyTimeoutMs: number;
}

export const SMTP_DEFAULTS: SmtpBounds = {
  connectionsMax: 5,
  messagesPerConnectionMax: 100,
  messagesPerSecondMax: 0,
  idleMs: 30_000,
  connectTimeoutMs: 10_000,
  greetingTimeoutMs: 10_000,
  commandTimeoutMs: 30_000,
  finalReplyTimeoutMs: 600_000,
};

/** The submission ports of RFC 6409 and RFC 8314. */
const DEFAULT_PORTS = { "smtp:": 587, "smtps:": 465 } as const;

/**
 * Reads `smtp://user:pass@host:port` or `smtps://…`, credentials percent-encoded. STARTTLS is required for
 * `smtp:` except on loopback, where it is taken when offered and the certificate is not verified;
 * `?tls=required` requires it on loopback too, `?tls=none` gives it up (a relay in the same private network).
 * `?return_path=off` is for relays that put an envelope sender of their own in the place of ours. Throws an Error that
 * never holds the password.
 */
export function smtpOptionsFromUrl(text: string): SmtpRelay {
  const url = URL.parse(text);
  if (url?.hash !== "") throw malformed(`it cannot be read. ${ENCODED}`);
  const { protocol } = url;
  if (protocol !== "smtp:" && protocol !== "smtps:") throw malformed("its scheme is neither smtp nor smtps");
  if (!/^\/?$/.test(url.pathname)) throw malformed(`it has a path. ${ENCODED}`);
  const host = hostOf(url);
  const loopback = isLoopback(host);
  const implicitTls = protocol === "smtps:";
  const credentials = credentialsOf(url);
  return {
    host,
    port: portOf(url, DEFAULT_PORTS[protocol]),
    implicitTls,
    starttls: starttlsOf(url, loopback, implicitTls),
    verifyCertificate: !loopback,
    ...(replacesReturnPath(url) ? { replacesReturnPath: true } : {}),
    ...(credentials === undefined ? {} : { credentials }),
  };
}

/** What a password with a sign in it that ends the part of a URL comes from. */
const ENCODED =
  "User and password are percent-encoded in a URL: %23 for #, %2F for /, %3F for ?, %40 for @, %3A for :, %25 for %";

function malformed(reason: string): Error {
  return new Error(`the SMTP URL is malformed: ${reason}`);
}

function hostOf(url: URL): string {
  const bare = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIPv6(bare) || /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9.])?$/.test(bare)) return bare;
  throw malformed("it has no host, or one that is not ASCII letters, digits, dots and hyphens");
}

function portOf(url: URL, fallback: number): number {
  if (url.port === "") return fallback;
  const port = wholeNumber(url.port, { min: 1 });
  if (port !== null) return port;
  throw malformed("its port is 0");
}

/** Only what can never leave this machine: 127.0.0.0/8, ::1 and `localhost`. */
function isLoopback(host: string): boolean {
  return (isIPv4(host) && host.startsWith("127.")) || host === "::1" || host.toLowerCase() === "localhost";
}

function credentialsOf(url: URL): SmtpRelay["credentials"] {
  if (url.username === "" && url.password === "") return undefined;
  if (url.username === "" || url.password === "")
    throw malformed("it has a user or a password without the other");
  const user = percentDecoded(url.username);
  const password = percentDecoded(url.password);
  if (isHeaderSafe(user) && isHeaderSafe(password)) return { user, password };
  throw malformed("its user or password holds CR, LF or NUL");
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw malformed("its user or password is not percent-encoded UTF-8");
  }
}

const PARAMETERS = "the parameters are tls=required, tls=none and return_path=off";

/** What is wrong, unless it may be a part of a password with a `?` in it. */
function quoted(text: string): string {
  return /^[a-z]{1,20}$/i.test(text) ? ` ${JSON.stringify(text)}` : "";
}

function replacesReturnPath(url: URL): boolean {
  const values = url.searchParams.getAll("return_path");
  if (values.length === 0) return false;
  if (values.length === 1 && values[0] === "off") return true;
  throw malformed(`return_path can only be off; ${PARAMETERS}`);
}

function starttlsOf(url: URL, loopback: boolean, implicitTls: boolean): SmtpRelay["starttls"] {
  const unknown = [...url.searchParams.keys()].find((key) => key !== "tls" && key !== "return_path");
  if (unknown !== undefined) throw malformed(`it has an unknown parameter${quoted(unknown)}; ${PARAMETERS}`);
  const values = url.searchParams.getAll("tls");
  const [tls = loopback ? "opportunistic" : "required"] = values;
  if (values.length > 1 || (values.length === 1 && tls !== "required" && tls !== "none")) {
    throw malformed(
      values.length > 1 ? "tls stands there twice" : `tls${quoted(tls)} is unknown; ${PARAMETERS}`,
    );
  }
  if (implicitTls && tls === "none") throw malformed("smtps cannot go without TLS");
  return tls === "required" || tls === "none" ? tls : "opportunistic";
}
