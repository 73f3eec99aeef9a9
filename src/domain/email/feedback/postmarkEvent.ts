import { isUuid } from "../../../kernel/ids.ts";
import { type BounceReason, bounceReason } from "./bounceReason.ts";

/** What an event of Postmark says of a message of ours. */
export interface PostmarkReading {
  /** Our id; null where the event names none. */
  readonly emailId: string | null;
  /** Null when it says nothing about the end of the message. */
  readonly told:
    | { readonly kind: "delivered" }
    | { readonly kind: "complained"; readonly feedbackType: string }
    | { readonly kind: "bounced"; readonly bounce: BounceReason; readonly diagnostic: string }
    | null;
}

/** The members that are read; Postmark sends many more. */
export interface PostmarkEvent {
  readonly RecordType: string;
  readonly Type?: unknown;
  readonly Details?: unknown;
  readonly Metadata?: unknown;
}

/** The name in `Metadata` that carries our id. */
const METADATA_NAME = "postledger_id";

/** Bounces by which the address is at fault, unless the server's answer shows another reason. */
const OF_THE_ADDRESS = new Set(["HardBounce", "BadEmailAddress"]);
/** Bounces that are about us, or about what we sent. */
const OF_POLICY = new Set(["Blocked", "SpamNotification", "DMARCPolicy", "SMTPApiError", "InboundError"]);
/** Bounces that pass, or that nobody's fault is known of. */
const PASSING = new Set(["SoftBounce", "DnsError", "Unknown"]);
/** Postmark suppresses by itself: such a message was not tried. */
const NOT_TRIED = new Set(["ManuallyDeactivated", "Unconfirmed"]);

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function bounceOf({ Type, Details }: PostmarkEvent): PostmarkReading["told"] {
  const type = textOf(Type);
  const diagnostic = textOf(Details).replace(/^[\w.-]{1,40};\s*/, "");
  const bounced = (bounce: BounceReason) => ({ kind: "bounced", bounce, diagnostic }) as const;
  if (type === "SpamComplaint") return { kind: "complained", feedbackType: "abuse" };
  if (NOT_TRIED.has(type)) return bounced({ kind: "soft", reason: "relay_suppressed" });
  const read = bounceReason({ status: "", diagnostic });
  const isClear = read.reason !== "recipient_refused";
  if (OF_THE_ADDRESS.has(type))
    return bounced(isClear ? read : { ...read, kind: "hard", reason: "recipient_address_rejected" });
  if (OF_POLICY.has(type))
    return bounced({ ...read, kind: "policy", reason: isClear ? read.reason : "policy_rejected" });
  if (PASSING.has(type)) return bounced(read.kind === "hard" ? { ...read, kind: "soft" } : read);
  // `Transient` is still tried; `AutoResponder` and the like say nothing about the address.
  return null;
}

/** Reads a webhook call of Postmark. Pure and total. */
export function readPostmarkEvent(event: PostmarkEvent): PostmarkReading {
  const { Metadata } = event;
  const isObject = typeof Metadata === "object" && Metadata !== null;
  const id = isObject ? textOf((Metadata as Readonly<Record<string, unknown>>)[METADATA_NAME]) : "";
  const emailId = isUuid(id) ? id.toLowerCase() : null;
  switch (event.RecordType) {
    case "Bounce":
      return { emailId, told: bounceOf(event) };
    case "SpamComplaint":
      return { emailId, told: { kind: "complained", feedbackType: "abuse" } };
    case "Delivery":
      return { emailId, told: { kind: "delivered" } };
    default:
      return { emailId, told: null };
  }
}
