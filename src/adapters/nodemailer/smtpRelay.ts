import type { MailSigner } from "../../ports/mail/mailSigner.ts";
import type { RelayLimits } from "./relayLimitsAndTimeouts.ts";

/** How a provider learns our id for a message. */
export type RelayProvider =
  /** Postmark sends the mail through one of the server's message streams (`message_stream`), or through its default. */
  | { readonly name: "postmark"; readonly messageStream?: string }
  /** Mailgun returns the variables of a message. */
  | { readonly name: "mailgun" }
  /** SendGrid returns the unique arguments of a message. */
  | { readonly name: "sendgrid" }
  /** SES sends events through a configuration set (`configuration_set` in the URL). */
  | { readonly name: "ses"; readonly configurationSet: string };

/** A relay, how to reach it, and the limits that its URL names. */
export interface SmtpRelay extends Partial<Pick<RelayLimits, "connectionsMax" | "messagesPerSecondMax">> {
  /** Host name or IP address, without brackets. */
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte (`smtps:`, RFC 8314). */
  readonly implicitTls: boolean;
  /** STARTTLS (RFC 3207): `opportunistic` uses it if offered, `none` never does. */
  readonly starttls: "required" | "opportunistic" | "none";
  /** Whether the relay's certificate must be valid for its host name. */
  readonly verifyCertificate: boolean;
  /** Set if it replaces our envelope sender with its own. */
  readonly replacesReturnPath?: true;
  /** The relay's provider, if it needs our id in its own header fields, so that its events contain it. */
  readonly provider?: RelayProvider;
  readonly credentials?: { readonly user: string; readonly password: string };
  /** Set if we do not sign, because the relay signs or changes what a signature covers. */
  readonly isUnsigned?: true;
  /** The host name in EHLO (RFC 5321 §4.1.1.1). The default is the machine's, or `[127.0.0.1]` if that has no dot. */
  readonly ehloName?: string;
  /** Of several relays, only those of the lowest order are used while one of them accepts mail. The default is 1. */
  readonly order?: number;
  /** The share of mail among relays of one order. The default is 1. */
  readonly weight?: number;
}

/** A relay and the limits on its use. The defaults are in `RELAY_LIMITS_DEFAULT`. */
export interface SmtpOptions extends SmtpRelay, Partial<RelayLimits> {
  readonly signer?: MailSigner | null;
}

/** The name of a relay: its host and port, and nothing secret. */
export function relayName({ host, port }: Pick<SmtpRelay, "host" | "port">): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
