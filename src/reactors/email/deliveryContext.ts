import type { DueEmail } from "../../../projections/emails/mailQueue.ts";
import type { EmailHistory } from "../../commands/email/emailHistory.ts";
import type { ClaimedEmail } from "../../commands/email/mailAttempts.ts";
import type { RecentEmailCache } from "../../commands/email/recentEmailCache.ts";
import type { DecisionInput, DeliveryPolicy } from "../../domain/email/deliveryPolicy.ts";
import { deliverFrom, type EmailState } from "../../domain/email/state.ts";
import { pausedMs, type WorkspaceState } from "../../domain/workspace/state.ts";
import type { InstanceKeys } from "../../kernel/crypto/derivedKeys.ts";
import type { EpochMs } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContentStore } from "../../ports/contentStore.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import type { MailSession } from "../../ports/mail/mailTransport.ts";
import type { SuppressionList } from "../../ports/suppressionList.ts";
import type { SendGate } from "../instance/sendGate.ts";

/** What one delivery works with. */
export interface DeliveryContext {
  readonly store: EventStore;
  readonly content: ContentStore;
  readonly clock: Clock;
  /** See `jumpProofTime`. */
  readonly jumpProofTime: () => EpochMs;
  readonly keys: Pick<InstanceKeys, "encryptWithSalt" | "returnPathTag">;
  /** The domain of envelope senders; null: they are the messages' own. */
  readonly returnPathDomain: string | null;
  readonly suppressions: SuppressionList;
  /** The least time between two reads of one workspace or sender: a claim may wait for that long. */
  readonly readSpacingMs: number;
  /** Spares reading what this instance has just accepted; null: everything is read. */
  readonly recent: RecentEmailCache | null;
  readonly policy: DeliveryPolicy;
  /** Whether a bounce keeps its recipient's domain for good. */
  readonly bounceDomains: boolean;
  readonly sendGate: SendGate;
  /** Names this worker process in claims. */
  readonly worker: string;
  /** See {@link ExpiredLeases}. */
  readonly endedWorker: string | null;
  readonly transport: string;
  readonly random: () => number;
  /** Aborts when nothing more is to be claimed. */
  readonly stopping: AbortSignal;
  /** Aborts when outcomes can no longer be waited for: the process is about to end. */
  readonly abandoned: AbortSignal;
  readonly onTrouble: (error: unknown, id: string) => void;
}

/** One attempt to deliver a message that this worker has claimed. */
export interface DeliveryAttempt {
  readonly due: DueEmail;
  readonly history: EmailHistory;
  readonly claimed: ClaimedEmail;
  /** Null for what the simulator delivers. */
  readonly session: MailSession | null;
  readonly deadline: number;
  /** As it was known before the claim. */
  readonly workspace: WorkspaceState;
}

/** What a decision about this message depends on beside its state: the time, and pauses. */
export function decisionInputOf(
  context: Pick<DeliveryContext, "clock" | "jumpProofTime" | "random" | "sendGate">,
  state: EmailState,
  workspace: WorkspaceState,
): DecisionInput {
  const now = context.clock.now();
  const paused =
    state === null ? 0 : pausedMs(workspace, deliverFrom(state), now, context.sendGate.downtimes);
  return { now, jumpProofNow: context.jumpProofTime(), random: context.random(), pausedMs: paused };
}
