import type { DueEmail } from "../../../projections/emails/mailQueue.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import type { EmailHistory } from "../../commands/email/emailHistory.ts";
import type { ClaimedEmail } from "../../commands/email/mailAttempts.ts";
import type { DecisionInput, DeliveryPolicy } from "../../domain/email/delivery/deliveryPolicy.ts";
import { deliverFrom, type EmailState } from "../../domain/email/state.ts";
import { pausedMs, type WorkspaceState } from "../../domain/workspace/state.ts";
import type { EpochMs } from "../../kernel/time.ts";
import type { MailSession, SendDeadlines } from "../../ports/mail/mailTransport.ts";
import type { ClaimWorkerDependencies } from "../worker/claimWorkerDependencies.ts";
import type { ContentPermit } from "./contentAccess.ts";

/** What one delivery works with. */
export interface DeliveryDependencies
  extends Pick<Dependencies, "store" | "content" | "clock" | "keys" | "suppressions" | "recent">,
    ClaimWorkerDependencies {
  /** See `jumpProofTime`. */
  readonly jumpProofTime: () => EpochMs;
  /** The domain of envelope senders; null: each message's own. */
  readonly returnPathDomain: string | null;
  /** The shortest time between two reads of one workspace or sender; a claim may wait this long. */
  readonly readSpacingMs: number;
  readonly policy: DeliveryPolicy;
  /** Whether a bounce permanently records its recipient's domain. */
  readonly bounceDomains: boolean;
  readonly transport: string;
  /** Told of each message that failed because the content store does not have its content or a file. */
  readonly onContentLost: (emailId: string) => void;
}

/** One attempt to deliver a message that this worker has claimed. */
export interface DeliveryAttempt {
  readonly due: DueEmail;
  readonly history: EmailHistory;
  readonly claimed: ClaimedEmail;
  /** Null for simulated messages. */
  readonly session: MailSession | null;
  readonly deadlines: SendDeadlines;
  /** Null if it needs nothing from the content store. */
  readonly contentPermit: ContentPermit | null;
  /** As known before the claim. */
  readonly workspace: WorkspaceState;
}

/** What a decision about this message depends on besides its state: the time, and pauses. */
export function decisionInputOf(
  context: Pick<DeliveryDependencies, "clock" | "jumpProofTime" | "random" | "deliveryGate">,
  state: EmailState,
  workspace: WorkspaceState,
): DecisionInput {
  const now = context.clock.now();
  const paused =
    state === null ? 0 : pausedMs(workspace, deliverFrom(state), now, context.deliveryGate.downtimes);
  return { now, jumpProofNow: context.jumpProofTime(), random: context.random(), pausedMs: paused };
}

/** What a delivery is given, once the message may go. */
export interface DeliveryMeans extends Pick<DeliveryAttempt, "session" | "contentPermit"> {
  /** The message's history if it was read already. */
  readonly known?: EmailHistory | null;
}
