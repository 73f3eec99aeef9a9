import {
  countReadyOf,
  FIRST_SENDER,
  nextSenderQueue,
  nextWaitingOwner,
  type SenderQueue,
} from "../../../projections/emails/mailQueue.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { mailOwnerOf } from "../../kernel/mail/mailOwnerId.ts";
import type { EpochMs } from "../../kernel/time.ts";
import { requireStoreError } from "../../ports/eventStore.ts";
import { type ReadDatabase, ReadDatabaseError } from "../../ports/readDatabase.ts";
import { unavailableSender } from "../../reactors/email/unavailableSender.ts";
import type { Readers } from "../../readModels/readModelReaders.ts";

/** Workspaces, and senders, with waiting mail to look at. Each is one row and one cached state. */
const LOOKED_AT_MAX = 1_000;
/** Counting stops here; more are shown as this many. */
export const MESSAGES_DUE_MAX = 10_000;

interface Counting {
  readonly deps: Pick<Dependencies, "workspaces" | "senders">;
  readonly emails: ReadDatabase;
  readonly now: EpochMs;
}

/**
 * How many messages for the relay are due and may leave, counted up to {@link MESSAGES_DUE_MAX} and over the first {@link
 * LOOKED_AT_MAX} workspaces and senders that have some waiting. Leaves out what is held: since the log was restored, by a
 * pause, or until a sender is verified or enabled again. Null while the read model is unavailable or the store does not
 * answer.
 */
export async function messagesDue(
  deps: Dependencies,
  readers: Pick<Readers, "reader">,
): Promise<number | null> {
  try {
    return await countDue({ deps, emails: readers.reader("emails"), now: deps.clock.now() });
  } catch (error) {
    if (!(error instanceof ReadDatabaseError)) requireStoreError(error);
    return null;
  }
}

async function countDue(counting: Counting): Promise<number> {
  let count = 0;
  let looked = 0;
  for await (const queue of queuesOfActiveWorkspaces(counting)) {
    if (looked === LOOKED_AT_MAX || count >= MESSAGES_DUE_MAX) break;
    looked += 1;
    if ((await unavailableSender(queue, counting.deps.senders.get)) === null)
      count += countReadyOf(counting.emails, queue, counting.now, MESSAGES_DUE_MAX - count);
  }
  return count;
}

async function* queuesOfActiveWorkspaces({ deps, emails }: Counting): AsyncIterable<SenderQueue> {
  const ownerAfter = (id: string) => nextWaitingOwner(emails, "relay", id);
  let owner = ownerAfter("");
  for (let looked = 0; owner !== null && looked < LOOKED_AT_MAX; looked += 1, owner = ownerAfter(owner)) {
    const ownerId = owner;
    const workspace = await deps.workspaces.get(mailOwnerOf(ownerId).workspaceId);
    if (workspace?.paused) continue;
    const queueAfter = (key: Parameters<typeof nextSenderQueue>[3]) =>
      nextSenderQueue(emails, "relay", ownerId, key);
    for (let queue = queueAfter(FIRST_SENDER); queue !== null; queue = queueAfter(queue)) yield queue;
  }
}
