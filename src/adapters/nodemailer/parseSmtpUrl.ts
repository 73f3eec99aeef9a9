import { isIPv6 } from "node:net";
import { isLoopback } from "../../kernel/network/isLoopback.ts";
import { parseDomain } from "../../kernel/text/emailAddress.ts";
import { wholeNumber } from "../../kernel/text/wholeNumber.ts";
import { RELAY_LIMIT_RANGES } from "./relayLimitsAndTimeouts.ts";
import type { SmtpRelay } from "./smtpRelay.ts";

/** The submission ports of RFC 6409 and RFC 8314. */
const DEFAULT_PORTS = { "smtp:": 587, "smtps:": 465 } as const;

/**
 * Reads `smtp://user:pass@host:port` or `smtps://…`, with percent-encoded credentials. STARTTLS is required for
 * `smtp:` except on loopback, where it is used if offered and the certificate is not verified. `?tls=required`
 * requires it on loopback too; `?tls=none` disables it (for a relay in the same private network). `?return_path=off`
 * is for relays that replace our envelope sender with their own; `?ehlo_name=` is the name in EHLO. `?connections_max=`
 * and `?messages_per_second=` limit the use of this relay. `?provider=` names one whose reports should name our
 * messages, with its `configuration_set` or `message_stream`. Throws an Error that never contains the password.
 */
export function parseSmtpUrl(text: string): SmtpRelay {
  const url = URL.parse(text);
  if (url?.hash !== "") throw malformed(`it cannot be read. ${ENCODED}`);
  const { protocol } = url;
  if (protocol !== "smtp:" && protocol !== "smtps:") throw malformed("its scheme is neither smtp nor smtps");
  if (!/^\/?$/.test(url.pathname)) throw malformed(`it has a path. ${ENCODED}`);
  const host = hostOf(url);
  const loopback = isLoopback(host);
  const implicitTls = protocol === "smtps:";
  const credentials = credentialsOf(url);
  requireKnown(url);
  return {
    host,
    port: portOf(url, DEFAULT_PORTS[protocol]),
    implicitTls,
    starttls: starttlsOf(url, loopback, implicitTls),
    verifyCertificate: !loopback,
    ...(choiceOf(url, "return_path", ["off"]) ? { replacesReturnPath: true } : {}),
    ...(choiceOf(url, "dkim", ["off"]) ? { isUnsigned: true } : {}),
    ...ehloNameOf(url),
    ...providerOf(url),
    ...numbersOf(url),
    ...(credentials === undefined ? {} : { credentials }),
  };
}

/** A hint for a password with an unencoded character that ends that part of a URL. */
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

function credentialsOf(url: URL): SmtpRelay["credentials"] {
  if (url.username === "" && url.password === "") return undefined;
  if (url.username === "" || url.password === "")
    throw malformed("it has a user without a password, or a password without a user");
  const user = percentDecoded(url.username);
  const password = percentDecoded(url.password);
  if (!/[\r\n\0]/.test(user + password)) return { user, password };
  throw malformed("its user or password contains CR, LF or NUL");
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw malformed("its user or password is not percent-encoded UTF-8");
  }
}

const NAMES = [
  "tls",
  "return_path",
  "dkim",
  "ehlo_name",
  "order",
  "weight",
  "connections_max",
  "messages_per_second",
  "provider",
  "configuration_set",
  "message_stream",
] as const;
const PARAMETERS =
  "the parameters are tls=required, tls=none, return_path=off, dkim=off, ehlo_name, order=1 to 99, weight=1 to 99, connections_max=1 to 1000, messages_per_second=0 to 100000, provider=mailgun, provider=sendgrid, provider=postmark, also with message_stream, and provider=ses with configuration_set";
/** Each number and its range, by the member that holds it. */
const NUMBERS = {
  order: { parameter: "order", min: 1, max: 99 },
  weight: { parameter: "weight", min: 1, max: 99 },
  connectionsMax: { parameter: "connections_max", ...RELAY_LIMIT_RANGES.connectionsMax },
  messagesPerSecondMax: { parameter: "messages_per_second", ...RELAY_LIMIT_RANGES.messagesPerSecondMax },
} as const;

/** Quotes a wrong text, unless it may be part of a password with a `?` in it. */
function quoted(text: string): string {
  return /^[a-z]{1,20}$/i.test(text) ? ` ${JSON.stringify(text)}` : "";
}

function ehloNameOf(url: URL): Pick<SmtpRelay, "ehloName"> {
  const text = parameterOf(url, "ehlo_name");
  if (text === null) return {};
  const ehloName = parseDomain(text);
  if (ehloName === null) throw malformed("ehlo_name is not a fully qualified host name");
  return { ehloName };
}

/** What providers name their configuration sets and message streams with. */
const PROVIDER_NAME = /^[\w-]{1,64}$/;

/** The provider, with the settings it needs to report on messages, and the stream that it sends them through. */
function providerOf(url: URL): Pick<SmtpRelay, "provider"> {
  const name = choiceOf(url, "provider", ["mailgun", "postmark", "sendgrid", "ses"]);
  const configurationSet = parameterOf(url, "configuration_set");
  const messageStream = parameterOf(url, "message_stream");
  if (name !== "postmark" && messageStream !== null)
    throw malformed(`message_stream is for provider=postmark; ${PARAMETERS}`);
  if (messageStream !== null && !PROVIDER_NAME.test(messageStream))
    throw malformed("message_stream is not 1 to 64 letters, digits, hyphens and underscores");
  if (name === "ses" && configurationSet !== null && PROVIDER_NAME.test(configurationSet))
    return { provider: { name, configurationSet } };
  if (name === "ses" || configurationSet !== null)
    throw malformed(`provider=ses needs configuration_set, and no other provider has it; ${PARAMETERS}`);
  if (name === null) return {};
  if (name === "mailgun" || name === "sendgrid") return { provider: { name } };
  return { provider: { name, ...(messageStream === null ? {} : { messageStream }) } };
}

function requireKnown(url: URL): void {
  const unknown = [...url.searchParams.keys()].find((key) => !NAMES.some((name) => name === key));
  if (unknown !== undefined) throw malformed(`it has an unknown parameter${quoted(unknown)}; ${PARAMETERS}`);
}

/** The value of a parameter; null if it is absent. */
function parameterOf(url: URL, name: (typeof NAMES)[number]): string | null {
  const [value = null, ...others] = url.searchParams.getAll(name);
  if (others.length > 0) throw malformed(`${name} occurs twice`);
  return value;
}

function choiceOf<const Choice extends string>(
  url: URL,
  name: (typeof NAMES)[number],
  choices: readonly Choice[],
): Choice | null {
  const value = parameterOf(url, name);
  if (value === null) return null;
  const found = choices.find((choice) => choice === value);
  if (found !== undefined) return found;
  throw malformed(`${name}${quoted(value)} is unknown; ${PARAMETERS}`);
}

function numbersOf(url: URL): Pick<SmtpRelay, keyof typeof NUMBERS> {
  const given = Object.entries(NUMBERS).flatMap(([member, { parameter, ...range }]) => {
    const text = parameterOf(url, parameter);
    if (text === null) return [];
    const value = wholeNumber(text, range);
    if (value === null)
      throw malformed(`${parameter} is not a whole number from ${range.min} to ${range.max}`);
    return [[member, value] as const];
  });
  return Object.fromEntries(given);
}

function starttlsOf(url: URL, loopback: boolean, implicitTls: boolean): SmtpRelay["starttls"] {
  const tls = choiceOf(url, "tls", ["required", "none"]);
  if (implicitTls && tls === "none") throw malformed("smtps always uses TLS");
  return tls ?? (loopback ? "opportunistic" : "required");
}
