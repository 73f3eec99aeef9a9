import type { MailOutcome, RelayFault } from "../../kernel/outcome/mailOutcome.ts";
import type { EpochMs } from "../../kernel/time.ts";

/** A file of a message: an attachment (RFC 2183), or with a content id a part of the html (RFC 2387). */
export interface MailAttachment {
  readonly filename: string;
  readonly contentType: string;
  readonly content: Uint8Array;
  /** Without angle brackets: what the html calls it (RFC 2392). */
  readonly contentId?: string;
}

/** One message, ready to be built as MIME (RFC 5322, RFC 2045). Addresses are bare addr-specs. */
export interface MailMessage {
  /** The message's uuid: goes into `X-Postledger-Id` and, with the sender's domain, into the Message-ID. */
  readonly id: string;
  readonly messageId: string;
  readonly date: EpochMs;
  readonly from: string;
  /** The sender of the envelope, where the relay keeps one (RFC 5321 §4.4); `from` unless given. */
  readonly returnPath?: string;
  /** The display name beside `from`. */
  readonly fromName?: string;
  readonly to: string;
  readonly toName?: string;
  readonly replyTo?: string;
  readonly replyToName?: string;
  readonly subject: string;
  /** The caller's own headers, beside those that the transport writes; of any script. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly html?: string;
  readonly text?: string;
  /** In the order of delivery. */
  readonly attachments?: readonly MailAttachment[];
}

/** One session at the relay: a connection that is open and has been greeted. Used for one message at a time. */
export interface MailSession {
  /** Sends one message. Never throws. Stops before the content when `deadline` has passed. */
  send(message: MailMessage, deadline: EpochMs): Promise<MailOutcome>;
  /** Of several relays the host and port of the one that the last message went to; left out where there is one. */
  readonly relay?: string;
  /** Gives it back. The session must not be used afterwards. */
  release(): void;
}

export type SessionResult =
  | { readonly kind: "session"; readonly session: MailSession }
  | ({ readonly kind: "broken" } & RelayFault);

export interface MailTransport {
  /** Written into events, so that nobody mistakes an outbox for a relay. */
  readonly name: "smtp" | "outbox";
  /** How many sessions can be open at once. */
  readonly sessionsMax: number;
  /**
   * Waits for a free session within the bounds on connections and rate, then connects if need be.
   * `broken` when the relay cannot be reached, refuses TLS or authentication, or `signal` aborts.
   */
  session(signal: AbortSignal): Promise<SessionResult>;
  /** Closes what is idle now and the rest when it is released. */
  close(): Promise<void>;
}
