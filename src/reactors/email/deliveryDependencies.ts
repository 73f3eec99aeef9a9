import type { DueEmail } from "../../../projections/emails/mailQueue.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import type { EmailHistory } from "../../commands/email/emailHistory.ts";
import type { ClaimedEmail, MailRecording } from "../../commands/email/mailAttempts.ts";
import type { DecisionInput, DeliveryPolicy } from "../../domain/email/delivery/deliveryPolicy.ts";
import { deliverFrom, type EmailState } from "../../domain/email/state.ts";
import { pausedMs, type WorkspaceState } from "../../domain/workspace/state.ts";
import type { EpochMs } from "../../kernel/time.ts";
import type { MailSession, SendDeadlines, TransportName } from "../../ports/mail/mailTransport.ts";
import type { ContentPermit } from "../content/contentStoreProbe.ts";
import type { ClaimWorkerDependencies } from "../worker/claimWorkerDependencies.ts";
import { workerCommandContext } from "../worker/workerCommandContext.ts";

export interface DeliveryDependencies
  extends Pick<Dependencies, "store" | "content" | "clock" | "keys" | "suppressions" | "recentEmails">,
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
  readonly transport: TransportName;
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
  deps: Pick<DeliveryDependencies, "clock" | "jumpProofTime" | "random" | "deliveryGate">,
  state: EmailState,
  workspace: WorkspaceState,
): DecisionInput {
  const now = deps.clock.now();
  const paused =
    state === null ? 0 : pausedMs(workspace, deliverFrom(state), now, deps.deliveryGate.downtimes);
  return { now, jumpProofNow: deps.jumpProofTime(), random: deps.random(), pausedMs: paused };
}

/** What an outcome in the workspace's message is decided and recorded with, at this moment. */
export function recordingOf(
  deps: DeliveryDependencies,
  { state, workspace, workspaceId }: MessageAtHand,
): MailRecording {
  const { policy, transport } = deps;
  const input = decisionInputOf(deps, state, workspace);
  return { policy, transport, input, context: workerCommandContext(deps, workspaceId) };
}

/** A message and its workspace, as they were last read. */
interface MessageAtHand {
  readonly workspaceId: string;
  readonly state: EmailState;
  readonly workspace: WorkspaceState;
}

/** What a delivery is given, once the message may go. */
export interface DeliveryMeans extends Pick<DeliveryAttempt, "session" | "contentPermit"> {
  /** The message's history if it was read already. */
  readonly known?: EmailHistory | null;
}
