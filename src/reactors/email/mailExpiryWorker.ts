import {
  agedEmailsOf,
  type ClockSkewedEmail,
  leasedEmails,
  nextOwnerByAge,
  overdueEmails,
  type WaitingOwner,
} from "../../../projections/emails/mailQueue.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { readEmailHistory } from "../../commands/email/emailHistory.ts";
import { expireEmail, expireEmailLease } from "../../commands/email/mailAttempts.ts";
import type { WorkspaceState } from "../../domain/workspace/state.ts";
import { mailOwnerOf } from "../../kernel/liveOrTestOwner.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { ExpiredLeases } from "../worker/expiredLeases.ts";
import { forEachRow } from "../worker/forEachRow.ts";
import { type PeriodicWorker, periodicWorker } from "../worker/periodicWorker.ts";
import { type RowBackoff, rowBackoff } from "../worker/rowBackoff.ts";
import { type ReadRows, rowReader } from "../worker/tryReadRows.ts";
import { type DeliveryDependencies, recordingOf } from "./deliveryDependencies.ts";
import { dueMailAfterClockSkew } from "./dueMailAfterClockSkew.ts";

interface MailExpiryOptions {
  readonly deps: DeliveryDependencies;
  readonly workspaces: Dependencies["workspaces"];
  readonly emails: ReadDatabase;
  /** Whether this process is delivering the message. */
  readonly isInFlight: (id: string) => boolean;
  /** Called repeatedly with messages that are due although the queue, which goes by times, does not show them. */
  readonly onClockSkewed: (emails: readonly ClockSkewedEmail[]) => void;
}

/** Claims, and aged messages, that one round looks at. */
const ROUND_MESSAGES_MAX = 1_000;
/** How many of these aged messages one workspace may have, besides those resting after a fault. More wait a round. */
const AGED_OF_WORKSPACE_MAX = 100;
/** Workspaces whose oldest messages one round checks; the next round continues behind them. */
const AGED_WORKSPACES_MAX = 256;
/** Messages past their deadline that one round ends, besides those that rest. */
const OVERDUE_MAX = 100;
/** How often to check leases and deadlines: a claim, or a message past its deadline, is ended at most this late. */
const INTERVAL_MS = 250;
/** The shortest time between two rounds, however much news the read model has. */
const WOKEN_INTERVAL_MS = 25;
/** The pause between two passes over all workspaces for messages whose time may be over. */
const AGED_MS = 5_000;

/**
 * Ends expired leases and messages whose time is over, and finds those that a clock misdated. It needs no relay, so
 * it works during an outage. A pause stops the lifetime of a message, but not its deadline.
 */
export function mailExpiryWorker(options: MailExpiryOptions): PeriodicWorker {
  const { deps, workspaces, emails, isInFlight } = options;
  const { store, clock, deliveryGate, onTrouble } = deps;
  const leases = new ExpiredLeases(clock, deps.endedWorker);
  const backoff = rowBackoff(clock);
  const read = rowReader(emails, onTrouble);
  const aged = agedMessages(options, read, backoff);
  let agedAt = Number.NEGATIVE_INFINITY;

  const endLeases = async (): Promise<void> => {
    const leased = read((db) => leasedEmails(db, ROUND_MESSAGES_MAX)) ?? [];
    await forEachRow(leases.expired(leased), { backoff, onTrouble }, async ({ id, attempt }) => {
      // Our own workers are still on it.
      if (isInFlight(id)) return;
      const { state } = await readEmailHistory(store, id);
      if (state === null) return;
      const { workspaceId } = state;
      const workspace = await workspaces.get(workspaceId);
      await expireEmailLease(store, id, attempt, recordingOf(deps, { workspaceId, state, workspace }));
    });
  };

  const endOverdue = async (): Promise<void> => {
    const limit = OVERDUE_MAX + backoff.busy().length;
    const overdue = read((db) => overdueEmails(db, deps.jumpProofTime(), limit)) ?? [];
    await forEachRow(overdue, { backoff, onTrouble }, async ({ id, workspaceId }) => {
      await endIfOver(deps, id, { workspaceId, workspace: await workspaces.get(workspaceId) });
      backoff.done(id);
    });
  };

  const round = async (): Promise<void> => {
    if (await deliveryGate.ask()) {
      await endLeases();
      await endOverdue();
    }
    const now = clock.monotonicMs();
    if (!deliveryGate.isOpen || (!aged.isAmidPass() && now - agedAt < AGED_MS)) return;
    agedAt = now;
    await aged.endSome();
  };

  return periodicWorker({
    round,
    intervalMs: INTERVAL_MS,
    wokenIntervalMs: WOKEN_INTERVAL_MS,
    firstDelayMs: 0,
    // End a lease that ran out while the store was away as soon as the store is back.
    backoffMsMax: INTERVAL_MS,
    onTrouble: (error) => onTrouble(error, ""),
  });
}

/** Ends a message if its own history says that its time is over. Throws `StoreError`. */
async function endIfOver(
  deps: DeliveryDependencies,
  id: string,
  owner: { readonly workspaceId: string; readonly workspace: WorkspaceState },
): Promise<void> {
  const history = await readEmailHistory(deps.store, id);
  const recording = recordingOf(deps, { ...owner, state: history.state });
  await expireEmail(deps.store, { id, ...history }, recording);
}

/** Goes through all mail owners, some in each round, and ends their messages whose time is over. */
function agedMessages(
  { deps, workspaces, onClockSkewed }: MailExpiryOptions,
  read: ReadRows,
  backoff: RowBackoff,
) {
  const { policy, clock, onTrouble } = deps;
  const clockSkewed = dueMailAfterClockSkew({ clock, policy, read });
  /** The last mail owner whose messages were checked; "" when all have been. */
  let after = "";

  /** Returns how many messages it looked at. */
  const endAgedOf = async ({ ownerId, acceptedAt }: WaitingOwner): Promise<number> => {
    const acceptedBefore = deps.jumpProofTime() - policy.lifetimeMs;
    if (acceptedAt > acceptedBefore) return 0;
    const { workspaceId } = mailOwnerOf(ownerId);
    const workspace = await workspaces.get(workspaceId);
    if (workspace?.paused) return 0;
    const limit = AGED_OF_WORKSPACE_MAX + backoff.busy().length;
    const aged = read((db) => agedEmailsOf(db, ownerId, acceptedBefore, limit)) ?? [];
    await forEachRow(aged, { backoff, onTrouble }, ({ id }) =>
      endIfOver(deps, id, { workspaceId, workspace }),
    );
    return aged.length;
  };

  return {
    isAmidPass: () => after !== "",
    /** Checks the oldest messages of a number of mail owners, so that all get their turn. */
    async endSome(): Promise<void> {
      let left = ROUND_MESSAGES_MAX;
      for (let looked = 0; looked < AGED_WORKSPACES_MAX && left > 0; looked += 1) {
        const next = read((db) => nextOwnerByAge(db, after));
        after = next?.ownerId ?? "";
        if (next === null) return onClockSkewed(clockSkewed.take());
        clockSkewed.lookAt(next.ownerId);
        left -= await endAgedOf(next);
      }
    },
  };
}
