import { RELAY_REPLY_READINGS } from "./delivery/smtpReplyRules.ts";
import { EXPIRED, LEASE_EXPIRED } from "./state.ts";

/** Reasons of the service itself; those of the relay are in {@link RELAY_REPLY_READINGS}. */
const OWN_REASONS = [
  "content_store_unavailable",
  "content_unavailable",
  EXPIRED,
  LEASE_EXPIRED,
  "no_answer_to_final_dot",
  "out_of_time",
  "recipient_suppressed",
  "relay_unreachable",
  "sender_unavailable",
  "sending_paused",
  "store_unavailable",
  "suppressed_since",
] as const;

/** Why a message can be `deferred`, `bounced`, `failed` or `suppressed`. The log keeps these names. */
export const EMAIL_REASONS = [
  ...(Object.keys(RELAY_REPLY_READINGS) as (keyof typeof RELAY_REPLY_READINGS)[]),
  ...OWN_REASONS,
] as const;

export type EmailReason = (typeof EMAIL_REASONS)[number];
