import { asTransient, type BounceReason, bounceReason } from "./bounceReason.ts";
import {
  asPermanent,
  asPolicy,
  diagnosticOf,
  notTried,
  objectOf,
  onlyIdAmong,
  type ProviderFeedback,
  textOf,
} from "./providerFeedback.ts";

/** The members that we read; Postmark sends many more. */
export interface PostmarkEvent {
  readonly RecordType: string;
  readonly Type?: unknown;
  readonly Details?: unknown;
  readonly Metadata?: unknown;
  readonly Email?: unknown;
  readonly Inactive?: unknown;
}

/** The key in `Metadata` that carries our id. */
const METADATA_NAME = "postledger_id";

/** Bounces that are the address's fault, unless the server's reply gives another reason. */
const OF_THE_ADDRESS = new Set(["HardBounce", "BadEmailAddress"]);
/** Bounces that are about us, or about what we sent. */
const OF_POLICY = new Set(["Blocked", "SpamNotification", "DMARCPolicy", "SMTPApiError", "InboundError"]);
/** Bounces that are temporary, or that nobody is known to be at fault for. */
const PASSING = new Set(["SoftBounce", "DnsError", "Unknown"]);
/** Postmark has suppressed the address itself, and did not try to deliver. */
const NOT_TRIED = new Set(["ManuallyDeactivated", "Unconfirmed"]);

function bounceOf({ Type, Details }: PostmarkEvent): ProviderFeedback["report"] {
  const type = textOf(Type);
  const diagnostic = diagnosticOf(Details);
  const bounced = (bounce: BounceReason) => ({ kind: "bounced", bounce, diagnostic }) as const;
  if (type === "SpamComplaint") return { kind: "complained", feedbackType: "abuse" };
  if (NOT_TRIED.has(type)) return notTried(diagnostic);
  const read = bounceReason({ status: "", diagnostic });
  if (OF_THE_ADDRESS.has(type)) return bounced(asPermanent(read));
  if (OF_POLICY.has(type)) return bounced(asPolicy(read));
  if (PASSING.has(type)) return bounced(asTransient(read));
  // Postmark still retries `Transient`; `AutoResponder` and the like say nothing about the address.
  return null;
}

function reportOf(event: PostmarkEvent): ProviderFeedback["report"] {
  switch (event.RecordType) {
    case "Bounce":
      return bounceOf(event);
    case "SpamComplaint":
      return { kind: "complained", feedbackType: "abuse" };
    case "Delivery":
      return { kind: "delivered" };
    default:
      return null;
  }
}

/** Reads a Postmark webhook call. Pure and total. */
export function readPostmarkEvent(event: PostmarkEvent): ProviderFeedback {
  const { Metadata, Email, Inactive } = event;
  const report = reportOf(event);
  const isDeactivated = report?.kind === "complained" || Inactive === true;
  return {
    emailId: onlyIdAmong([textOf(objectOf(Metadata)[METADATA_NAME])]),
    report,
    ...(isDeactivated ? { deactivated: textOf(Email) } : {}),
  };
}
