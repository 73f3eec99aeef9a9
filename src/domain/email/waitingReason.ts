import type { RelayTrouble } from "../../kernel/outcome/mailOutcome.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import type { EpochMs } from "../../kernel/time.ts";
import type { DeliveryPolicy } from "./delivery/deliveryPolicy.ts";
import { isDue, isHeldForOperator } from "./delivery/retrySchedule.ts";
import { type Email, isTerminal } from "./state.ts";

/** Why a message has not ended yet. */
export const WAITING_REASONS = [
  "in_queue",
  "being_delivered",
  "scheduled",
  "retry_scheduled",
  "relay_unavailable",
  "content_store_unavailable",
  "sending_paused",
  "sender_unavailable",
  "delivery_unknown",
  "held_after_restore",
  "delivery_off",
  "disk_full",
] as const;

/** What a message waits for, and until when; null where no time is known. `detail` is for people. */
export interface Waiting {
  readonly reason: (typeof WAITING_REASONS)[number];
  readonly until: EpochMs | null;
  readonly detail: string;
  /** Of `retry_scheduled`: the reason of the last deferral, if it is known. */
  readonly lastDeferral?: string;
}

/** What one instance knows about a message's delivery, beside the message itself. */
export interface WaitingFacts {
  readonly now: EpochMs;
  readonly policy: DeliveryPolicy;
  /** Held since the log was restored or lost its newest events. */
  readonly isHeld: boolean;
  readonly isPaused: boolean;
  /** Why, if the service itself has paused it; a sentence. */
  readonly pauseReason: string | null;
  /** Whether the sender, or its domain, still authorizes the message. */
  readonly mayLeave: boolean;
  /** Whether this instance delivers at all. */
  readonly delivers: boolean;
  /** Whether its disk has room for outcomes. */
  readonly hasRoom: boolean;
  /** When the lease of the claim ends; null without a claim. */
  readonly leaseUntil: EpochMs | null;
  /** When the message's lifetime ends. */
  readonly expiresAt: EpochMs;
  /** The reason of the last deferral; null if there was none. */
  readonly lastDeferral: string | null;
  /** What keeps the relay from taking mail, and when it is tried again; null while nothing does. */
  readonly relay: { readonly trouble: RelayTrouble; readonly nextTryAt: EpochMs } | null;
  /** When the content store is tried again; null while it is well, or the message needs nothing from it. */
  readonly contentStore: { readonly nextTryAt: EpochMs } | null;
}

const NOT_SECURE = "A secure connection to the relay cannot be established.";

/** What callers see: what kind of trouble it is, not where the relay is. */
export const RELAY_DETAILS: Readonly<Record<RelayTrouble, string>> = {
  login_refused: "The relay refuses the service's log-in, or wants one.",
  tls_failed: NOT_SECURE,
  certificate_expired: NOT_SECURE,
  certificate_untrusted: NOT_SECURE,
  certificate_of_other_host: NOT_SECURE,
  unreachable: "The relay cannot be reached.",
  throttled: "The relay asks the service to send less mail in the same time.",
  unavailable: "The relay takes no mail at the moment.",
  unconfirmed: "The relay takes messages and does not confirm them: recipients may get them more than once.",
  defers_everybody: "The relay defers one recipient after the other.",
  outbox_unwritable: "The outbox cannot be written.",
};

const RESUME = `the operator lets it go on with \`${POSTLEDGER} delivery resume\`.`;

/** Why a message waits; null when it has ended. What blocks it longest comes first. */
export function waitingOf(email: Email, facts: WaitingFacts): Waiting | null {
  if (isTerminal(email.status)) return null;
  if (facts.leaseUntil !== null) {
    const detail =
      "A worker is delivering it. If its outcome is not recorded by then, the message is tried again.";
    return { reason: "being_delivered", until: facts.leaseUntil, detail };
  }
  if (email.status === "scheduled" && !isDue(email, facts.policy, facts.now)) {
    return { reason: "scheduled", until: email.nextAttemptAt, detail: "It is scheduled for then." };
  }
  return heldBack(email, facts) ?? soonToGo(email, facts);
}

/** The reasons that do not go away by waiting. */
function heldBack(email: Email, facts: WaitingFacts): Waiting | null {
  const waits = (reason: Waiting["reason"], detail: string): Waiting => ({ reason, until: null, detail });
  if (facts.isHeld)
    return waits("held_after_restore", `The log was restored since, or lost its newest events; ${RESUME}`);
  if (facts.isPaused) {
    const sentences = ["Sending is paused for the workspace.", facts.pauseReason];
    return waits("sending_paused", sentences.filter((sentence) => sentence !== null).join(" "));
  }
  if (!facts.mayLeave)
    return waits("sender_unavailable", "The sender is disabled, or its domain is not verified any more.");
  if (isHeldForOperator(email, facts.policy)) {
    const detail = `The relay may have the message; ${RESUME}`;
    return { reason: "delivery_unknown", until: facts.expiresAt, detail };
  }
  if (!facts.delivers) return waits("delivery_off", "The instance that was asked delivers no mail.");
  return facts.hasRoom ? null : waits("disk_full", "The disk of the instance that was asked is nearly full.");
}

function soonToGo(email: Email, { now, policy, relay, contentStore, lastDeferral }: WaitingFacts): Waiting {
  if (!isDue(email, policy, now)) {
    const detail = `It was deferred: ${lastDeferral ?? "see the timeline"}.`;
    const waiting = { reason: "retry_scheduled", until: email.nextAttemptAt, detail } as const;
    return lastDeferral === null ? waiting : { ...waiting, lastDeferral };
  }
  if (relay !== null)
    return { reason: "relay_unavailable", until: relay.nextTryAt, detail: RELAY_DETAILS[relay.trouble] };
  if (contentStore !== null) {
    const detail = "The content store, which has the files or the content of the message, cannot be read.";
    return { reason: "content_store_unavailable", until: contentStore.nextTryAt, detail };
  }
  return {
    reason: "in_queue",
    until: null,
    detail: "It is due, and goes as soon as the relay has room for it.",
  };
}
