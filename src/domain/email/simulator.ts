import type { MailOutcome } from "../../kernel/outcome/mailOutcome.ts";
import type { EmailReason } from "./emailReasons.ts";
import type { Feedback } from "./feedback/feedbackDecision.ts";

/** Recipients at this domain are fictitious (RFC 6761 §6.2): mail to them never leaves the service. */
const SIMULATOR_DOMAIN = "simulator.test";

const TAKEN = "250 2.0.0 simulated";

/** What a relay would reply, by the name that asks for this end: the local part before a `+`. */
const REPLIES = {
  sent: TAKEN,
  delivered: TAKEN,
  complained: TAKEN,
  deferred: "450 4.2.0 simulated: try again later",
  bounced: "550 5.1.1 simulated: no such address",
  failed: "554 5.7.1 simulated: refused by policy",
  suppressed: "550 5.1.1 simulated: no such address",
} as const;

/** The same of a bounce for another reason, as the label says: `bounced+mailbox_full`. */
const BOUNCES = {
  content_rejected: "554 5.6.0 simulated: content refused",
  mailbox_disabled: "550 5.2.1 simulated: mailbox disabled",
  mailbox_full: "552 5.2.2 simulated: mailbox full",
  message_too_large: "552 5.3.4 simulated: message too large",
  no_route: "550 5.4.4 simulated: no route to the domain",
  relay_suppressed: "550 5.1.1 simulated: the address is on the suppression list",
} as const satisfies Partial<Record<EmailReason, string>>;

/** The reasons that an address can ask a bounce for. */
export const SIMULATED_REASONS = Object.keys(BOUNCES) as readonly (keyof typeof BOUNCES)[];

const ENDS = Object.keys(REPLIES) as readonly (keyof typeof REPLIES)[];

/** How a message to the simulator ends; a bounce by its reason, if the address gives one. */
export type SimulatedEnd = (typeof ENDS)[number] | keyof typeof BOUNCES;

/**
 * How a message to this address ends; null for a real address. A simulator address that names no end bounces, like one
 * that does not exist.
 */
export function simulatedEnd(address: string): SimulatedEnd | null {
  const lower = address.toLowerCase();
  const at = lower.lastIndexOf("@");
  if (lower.slice(at + 1) !== SIMULATOR_DOMAIN) return null;
  const [name, label] = lower.slice(0, at).split("+", 2);
  const end = ENDS.find((one) => one === name) ?? "bounced";
  return end === "bounced" ? (SIMULATED_REASONS.find((reason) => reason === label) ?? end) : end;
}

/** How the simulator ends a message; null if the message leaves. With `staysInside`, it never leaves. */
export function simulatedEndOf(to: string, staysInside: boolean): SimulatedEnd | null {
  return simulatedEnd(to) ?? (staysInside ? "delivered" : null);
}

/** What a relay would do. A refusal comes after the content, so it suppresses nobody. */
export function simulatedOutcome(end: SimulatedEnd): MailOutcome {
  const reply = { ...REPLIES, ...BOUNCES }[end];
  if (reply === TAKEN) return { kind: "accepted", reply };
  return { kind: "refused", stage: "final", code: Number(reply.slice(0, 3)), reply };
}

/** The feedback that follows; null if none does. */
export function simulatedFeedback(end: SimulatedEnd): Feedback | null {
  switch (end) {
    case "delivered":
      return { kind: "delivered" };
    case "complained":
      return { kind: "complained", feedbackType: "abuse" };
    default:
      return null;
  }
}
