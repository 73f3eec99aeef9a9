import type { MailOutcome, RelayFault } from "../../kernel/outcome/mailOutcome.ts";
import type { EpochMs } from "../../kernel/time.ts";
import type { Deadline } from "../clock.ts";

/** A file of a message: an attachment (RFC 2183) or, if it has a content id, a part of the html (RFC 2387). */
export interface MailAttachment {
  readonly filename: string;
  readonly contentType: string;
  readonly content: Uint8Array;
  /** The name by which the html refers to it (RFC 2392), without angle brackets. */
  readonly contentId?: string;
}

/** One message, ready to be built as MIME (RFC 5322, RFC 2045). Addresses are bare addr-specs. */
export interface MailMessage {
  /** The message's uuid, also in the header `X-Postledger-Id` and, with the sender's domain, in the Message-ID. */
  readonly id: string;
  readonly messageId: string;
  readonly date: EpochMs;
  readonly from: string;
  /** The envelope sender, if the relay keeps one (RFC 5321 §4.4). The default is `from`. */
  readonly returnPath?: string;
  /** The display name of `from`. */
  readonly fromName?: string;
  readonly to: string;
  readonly toName?: string;
  readonly replyTo?: string;
  readonly replyToName?: string;
  readonly subject: string;
  /** The caller's own headers, in addition to those that the transport writes. Values may be in any script. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly html?: string;
  readonly text?: string;
  /** In the order of delivery. */
  readonly attachments?: readonly MailAttachment[];
}

/** Until when one message may use relays. */
export interface SendDeadlines {
  /** For everything before the final dot, over all relays that are tried. No later than `reply`. */
  readonly handover: Deadline;
  /** For the answer to the final dot. */
  readonly reply: Deadline;
}

/** One session with the relay: an open connection, after the greeting. Sends one message at a time. */
export interface MailSession {
  /** Sends one message. Never throws. Stops before the content if the deadline of the handover has passed. */
  send(message: MailMessage, deadlines: SendDeadlines): Promise<MailOutcome>;
  /** Host and port of the relay that got the last message; absent if only one relay is configured. */
  readonly relay?: string;
  /** Whether the relay has accepted our log-in, or offers one and we have none; absent if neither. */
  readonly login?: "accepted" | "unused";
  /** Returns the session to the pool. It must not be used afterwards. */
  release(): void;
}

export type SessionResult =
  | { readonly kind: "session"; readonly session: MailSession }
  | ({ readonly kind: "broken" } & RelayFault);

/**
 * Where each transport puts mail. Events record the name, so that nobody mistakes an outbox, or the simulator, which has
 * no adapter, for a relay.
 */
const TRANSPORTS = { smtp: "relay", outbox: "files", simulator: "nowhere" } as const;

export type TransportName = keyof typeof TRANSPORTS;
type MailDestination = (typeof TRANSPORTS)[TransportName];

const destinations: ReadonlyMap<string, MailDestination> = new Map(Object.entries(TRANSPORTS));

/** Where a recorded transport puts mail; null for none, or one that only another release knows. */
export function destinationOf(transport: string | null): MailDestination | null {
  return destinations.get(transport ?? "") ?? null;
}

export interface MailTransport {
  readonly name: Exclude<TransportName, "simulator">;
  /** How many sessions can be open at once. */
  readonly sessionsMax: number;
  /**
   * Waits until the limits on connections and rate permit a session, then connects if necessary.
   * `broken` when the relay cannot be reached, refuses TLS or authentication, or `signal` aborts. `preferredRelay`: of
   * several relays, the one to use if it accepts mail, named as `MailSession.relay` names it.
   */
  session(signal: AbortSignal, preferredRelay?: string | null): Promise<SessionResult>;
  /** Closes idle sessions now and the others when they are released. */
  close(): Promise<void>;
}
