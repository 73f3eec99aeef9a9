import { type SendgridKey, sendgridKeyOf } from "../../../kernel/crypto/sendgridSignature.ts";
import { webhookSecretBytes } from "../../../kernel/crypto/webhookSignature.ts";
import { parseAddress, parseDomain } from "../../../kernel/text/emailAddress.ts";
import type { EnvironmentReader } from "../environmentReader.ts";
import { type ConfiguredTls, readTlsFiles } from "./tlsFiles.ts";

/** Which sender envelopes carry, and how bounces and complaints come back. */
export interface InboundConfig {
  /** The Amazon SNS topics whose notifications are accepted. */
  readonly sesTopicArns: readonly string[];
  /** What other providers sign their reports with; an empty list: none are taken. */
  readonly reportSecrets: ReportSecrets;
  /** The domain of envelope senders, in lower-case ASCII; null: each message's own sender. */
  readonly returnPathDomain: string | null;
  /** Null: no returned mail is taken here. */
  readonly inbound: InboundMailConfig | null;
}

interface ReportSecrets {
  /** One for each webhook at Resend. */
  readonly resendSecrets: readonly Uint8Array[];
  readonly mailgunKeys: readonly string[];
  /** Public keys: SendGrid has the private ones. */
  readonly sendgridKeys: readonly SendgridKey[];
}

/** Each is tried on each call. */
const REPORT_SECRETS_MAX = 20;
/** Mailgun does not say of what a key consists. */
const MAILGUN_KEY = /^[!-~]{16,200}$/;

const TOPIC_ARN = /^arn:aws(?:-[a-z]+){0,2}:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}$/;

/** Where returned mail is taken. */
interface InboundMailConfig {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** The domain of envelope senders. */
  readonly domain: string;
  /** The local part at that domain that providers send complaints to, in lower case; null: none. */
  readonly complaintLocalPart: string | null;
  /** Null: TLS is not offered. */
  readonly tls: ConfiguredTls | null;
  /** Connections at once: in all, and from one client. */
  readonly connectionsMax: number;
  readonly connectionsPerClientMax: number;
}

/** Servers that return mail open few connections. */
const CONNECTIONS = { total: 50, perClient: 10 };
const CONNECTIONS_RANGE = { min: 1, max: 10_000 };

/** `host` is what HTTP listens on. */
export function readInboundConfig(reader: EnvironmentReader, host: string): InboundConfig {
  const aDomain = "a domain such as bounce.shop.example";
  const returnPathDomain = reader.parsed("RETURN_PATH_DOMAIN", parseDomain, aDomain);
  const port = reader.listeningPort("INBOUND_PORT");
  const listening = reader.host("INBOUND_HOST", host);
  const complaintLocalPart = reader.parsed(
    "COMPLAINT_ADDRESS",
    (text) => localPartAt(returnPathDomain, text),
    "one address at RETURN_PATH_DOMAIN: complaints@bounce.shop.example",
  );
  const tls = readTlsFiles(reader, "INBOUND");
  const connections = (setting: string, fallback: number) =>
    reader.integer(setting, fallback, CONNECTIONS_RANGE);
  const limits = {
    connectionsMax: connections("INBOUND_CONNECTIONS_MAX", CONNECTIONS.total),
    connectionsPerClientMax: connections("INBOUND_CONNECTIONS_PER_CLIENT_MAX", CONNECTIONS.perClient),
  };
  if (port !== null && returnPathDomain === null) {
    reader.errors.push(
      "RETURN_PATH_DOMAIN must be set with INBOUND_PORT: it is the domain that mail comes back to",
    );
  }
  const isOpen = port !== null && returnPathDomain !== null && tls !== "invalid";
  const inbound = isOpen
    ? { host: listening, port, domain: returnPathDomain, complaintLocalPart, tls, ...limits }
    : null;
  const sesTopicArns = reader.list("SES_TOPIC_ARNS");
  const must = "ARNs of topics, separated by commas: arn:aws:sns:eu-west-1:123456789012:ses-events";
  reader.requireEach("SES_TOPIC_ARNS", sesTopicArns, (arn) => TOPIC_ARN.test(arn), must);
  return { returnPathDomain, inbound, sesTopicArns, reportSecrets: readReportSecrets(reader) };
}

function readReportSecrets(reader: EnvironmentReader): ReportSecrets {
  return {
    resendSecrets: secretsIn(
      reader,
      "RESEND_WEBHOOK_SECRET",
      webhookSecretBytes,
      "the signing secrets of webhooks at Resend, which begin with whsec_",
    ),
    mailgunKeys: secretsIn(
      reader,
      "MAILGUN_WEBHOOK_SIGNING_KEY",
      (text) => (MAILGUN_KEY.test(text) ? text : null),
      "Mailgun's HTTP webhook signing keys, of 16 characters or more",
    ),
    sendgridKeys: secretsIn(
      reader,
      "SENDGRID_VERIFICATION_KEY",
      sendgridKeyOf,
      "the verification keys of signed Event Webhooks at SendGrid, which begin with MFkw",
    ),
  };
}

/** The secrets of a comma-separated setting. The error quotes none of them. */
function secretsIn<Secret>(
  reader: EnvironmentReader,
  name: string,
  parse: (text: string) => Secret | null,
  must: string,
): readonly Secret[] {
  const texts = (reader.secret(name) ?? "").split(",").map((text) => text.trim());
  const given = texts.filter((text) => text !== "");
  const secrets = given.map(parse).filter((secret) => secret !== null);
  if (secrets.length !== given.length || secrets.length > REPORT_SECRETS_MAX)
    reader.errors.push(
      `${reader.sourceOf(name)} must be ${must}, separated by commas, at most ${REPORT_SECRETS_MAX} of them`,
    );
  return secrets;
}

/** The local part of an address at the domain; null if it is not one. */
function localPartAt(domain: string | null, text: string): string | null {
  const address = parseAddress(text);
  if (!("canonical" in address)) return null;
  const local = address.canonical.slice(0, address.canonical.lastIndexOf("@"));
  return address.canonical === `${local}@${domain}` ? local : null;
}
