import type { MailOutcome } from "../../kernel/outcome/mailOutcome.ts";
import type { Feedback } from "./feedback/feedbackDecision.ts";

/** Recipients at this domain are fictitious (RFC 6761 §6.2): mail to them never leaves the service. */
const SIMULATOR_DOMAIN = "simulator.test";

/** How messages to the simulator can end, by the local part before a `+`. */
const ENDS = ["delivered", "bounced", "complained", "deferred", "suppressed"] as const;

export type SimulatedEnd = (typeof ENDS)[number];

/**
 * How a message to this address ends; null for a real address. A simulator address that names no end bounces, like one
 * that does not exist.
 */
export function simulatedEnd(address: string): SimulatedEnd | null {
  const lower = address.toLowerCase();
  const at = lower.lastIndexOf("@");
  if (lower.slice(at + 1) !== SIMULATOR_DOMAIN) return null;
  const [name = ""] = lower.slice(0, at).split("+", 1);
  return ENDS.find((end) => end === name) ?? "bounced";
}

/** How the simulator ends a message; null if the message leaves. With `staysInside`, it never leaves. */
export function simulatedEndOf(to: string, staysInside: boolean): SimulatedEnd | null {
  return simulatedEnd(to) ?? (staysInside ? "delivered" : null);
}

/** What a relay would reply. A bounce comes after the content, so it suppresses nobody. */
export function simulatedOutcome(end: SimulatedEnd): MailOutcome {
  switch (end) {
    case "delivered":
    case "complained":
      return { kind: "accepted", reply: "250 2.0.0 simulated" };
    case "deferred":
      return { kind: "refused", stage: "rcpt", code: 450, reply: "450 4.2.0 simulated: try again later" };
    case "bounced":
    case "suppressed":
      return { kind: "refused", stage: "final", code: 550, reply: "550 5.1.1 simulated: no such address" };
  }
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
