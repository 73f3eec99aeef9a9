import type { Receipt, Replay } from "../../../domain/email/idempotency.ts";
import type { SenderFault } from "../../../domain/sender/state.ts";

/** Why an attachment cannot be sent. */
export type AttachmentRefusal =
  | "INVALID_REQUEST"
  | "ATTACHMENT_NOT_READY"
  | "ATTACHMENT_EXPIRED"
  | "ATTACHMENT_LIMIT_EXCEEDED"
  | "ATTACHMENT_INVALID"
  | "ATTACHMENT_TYPE_UNSUPPORTED";

export type SendRefusalCode =
  | "SENDER_UNAVAILABLE"
  | "SENDING_PAUSED"
  | "TEMPLATE_UNAVAILABLE"
  | "INVALID_TEMPLATE_DATA"
  | AttachmentRefusal
  | "STORAGE_LIMIT_EXCEEDED"
  | "DAILY_LIMIT_REACHED"
  | "RATE_LIMITED";

export interface SendRefusal {
  readonly kind: "refused";
  readonly code: SendRefusalCode;
  /** What is wrong where, by JSON Pointers (RFC 6901) into the body; empty if the code says it all. */
  readonly faults: readonly { readonly pointer: string; readonly message: string }[];
  /** Explains the code to people, where it has several causes. */
  readonly detail?: string;
  /** Whether the same send can never work, though the code says that it may. */
  readonly isPermanent?: boolean;
  /** When the same send may work, if the code does not say. */
  readonly retryAfterMs?: number;
  /** Why the sender is unavailable, with SENDER_UNAVAILABLE. */
  readonly senderFault?: SenderFault;
}

export type SendOutcome =
  | { readonly kind: "accepted"; readonly receipt: Receipt; readonly replayed: boolean }
  | Replay
  | SendRefusal;
