import { isHeldAfterRestore } from "../../../projections/emails/holdAfterRestore.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { isInContentStore } from "../../commands/email/content/storedContent.ts";
import type { EmailView } from "../../commands/email/readEmail.ts";
import type { DeliveryPolicy } from "../../domain/email/delivery/deliveryPolicy.ts";
import { expiresAt } from "../../domain/email/delivery/messageExpiry.ts";
import { deliverFrom, isTerminal } from "../../domain/email/state.ts";
import { type Waiting, type WaitingFacts, waitingOf } from "../../domain/email/waitingReason.ts";
import { pauseReason } from "../../domain/workspace/sendingRates.ts";
import { pausedMs } from "../../domain/workspace/state.ts";
import { epochMs } from "../../kernel/time.ts";
import { type ReadDatabase, unlessUnavailable } from "../../ports/readDatabase.ts";
import { unavailableSender } from "./unavailableSender.ts";

interface WaitingReasonOptions {
  readonly deps: Dependencies;
  readonly emails: ReadDatabase;
  readonly policy: DeliveryPolicy;
  readonly delivers: boolean;
  readonly hasRoom: () => boolean;
  /** Why the relay takes no mail from this instance. */
  readonly relay: () => WaitingFacts["relay"];
  /** Why the content store gives out no files to this instance. */
  readonly contentStore: () => WaitingFacts["contentStore"];
}

/** Says why a message has not ended, from its own history and what this instance knows; null when it has. */
export function readWaitingReason(
  options: WaitingReasonOptions,
): (view: EmailView) => Promise<Waiting | null> {
  const { deps, policy } = options;
  return async ({ id, email, events }) => {
    if (isTerminal(email.status)) return null;
    const [workspace, sender, { instance }] = await Promise.all([
      deps.workspaces.get(email.workspaceId),
      unavailableSender(email, deps.senders.get),
      deps.instanceStatus.get(),
    ]);
    const now = deps.clock.now();
    const paused = pausedMs(workspace, deliverFrom(email), now, instance?.downtimes ?? []);
    return waitingOf(email, {
      now,
      policy,
      // Only the read model knows this; false while it is unavailable.
      isHeld:
        instance?.isHeld === true && unlessUnavailable(() => isHeldAfterRestore(options.emails, id)) === true,
      isPaused: workspace?.paused === true,
      pauseReason: pauseReason(workspace),
      mayLeave: sender === null,
      delivers: options.delivers,
      hasRoom: options.hasRoom(),
      leaseUntil: leaseUntil(events, email.claim),
      expiresAt: expiresAt(email, policy, paused),
      lastDeferral: lastDeferral(events),
      relay: email.isSimulated ? null : options.relay(),
      contentStore: needsContentStore(events) ? options.contentStore() : null,
    });
  };
}

function needsContentStore([stored]: EmailView["events"]): boolean {
  return stored?.event.type === "EmailContentStored" && isInContentStore(stored.event.data);
}

function leaseUntil(events: EmailView["events"], claim: EmailView["email"]["claim"]): number | null {
  const claimed = events.findLast(({ event }) => event.type === "EmailDeliveryStarted");
  return claim === null || claimed === undefined ? null : epochMs(claimed.at) + claim.leaseMs;
}

function lastDeferral(events: EmailView["events"]): string | null {
  const last = events.findLast(({ event }) => event.type === "EmailDeferred")?.event;
  return last?.type === "EmailDeferred" ? last.data.reason : null;
}
