/** How far a delivery got before it ended: the SMTP command that was refused or got no answer. */
export type MailStage = "connect" | "mail" | "rcpt" | "data" | "final";

/** Reply codes of a relay that accepts no mail now, whatever the message (RFC 5321 §4.2.2, RFC 4954 §6). */
export const RELAY_TROUBLE_CODES: readonly number[] = [421, 454];
/** Reply codes that require or refuse a log-in, whatever the command (RFC 4954 §6). */
export const LOG_IN_CODES: readonly number[] = [530, 535, 538];

/** What the relay did with a message: facts only. `domain/email` decides what they mean. */
export type MailOutcome =
  /** The final dot was answered with 2xx. */
  | { readonly kind: "accepted"; readonly reply: string }
  /** A command was answered with 4xx or 5xx. */
  | {
      readonly kind: "refused";
      readonly stage: MailStage;
      readonly code: number;
      readonly reply: string;
      /** The relay offers a log-in, we have none for it, and it has taken no message without one since it refused this one. */
      readonly mayWantLogin?: true;
    }
  /** No answer: connection, TLS, authentication or time-out trouble before the final dot was sent. */
  | { readonly kind: "broken"; readonly stage: MailStage; readonly reason: string }
  /** The final dot was sent but no answer came: the relay may or may not have the message. */
  | { readonly kind: "unknown"; readonly reason: string }
  /** The deadline had passed before the content was sent: nothing left this machine. */
  | { readonly kind: "outOfTime" };

/** What prevents a relay from accepting mail, as seen from outside. */
export type RelayTrouble =
  | "login_refused"
  | "tls_failed"
  /** Its certificate has expired, is not valid yet, or was revoked. */
  | "certificate_expired"
  /** Its certificate is of an authority that nobody here trusts. */
  | "certificate_untrusted"
  /** Its certificate is for another host. */
  | "certificate_of_other_host"
  | "unreachable"
  | "throttled"
  | "unavailable"
  /** It takes messages and does not say whether it has them. */
  | "unconfirmed"
  /** It answers, and defers one recipient after the other. */
  | "defers_everybody"
  | "outbox_unwritable";

/** One failure of the relay, whatever the message. `reason` is for the operator, because it may name the relay. */
export interface RelayFault {
  readonly trouble: RelayTrouble;
  readonly reason: string;
  /** The message whose recipient or content it refused for now: the fault may lie with that message alone. */
  readonly emailId?: string;
  /** No session could be opened: one that opens later ends the fault, whatever becomes of the message. */
  readonly hadNoSession?: true;
}
