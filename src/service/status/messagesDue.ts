import {
  countReadyOf,
  type DueOfSender,
  dueBySender,
  FIRST_SENDER,
  hasMoreReadyThan,
  nextSenderQueue,
  nextWaitingOwner,
} from "../../../projections/emails/mailQueue.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { mailOwnerOf } from "../../kernel/liveOrTestOwner.ts";
import type { EpochMs } from "../../kernel/time.ts";
import { requireStoreError } from "../../ports/eventStore.ts";
import { type ReadDatabase, ReadDatabaseError } from "../../ports/readDatabase.ts";
import { unavailableSender } from "../../reactors/email/unavailableSender.ts";
import type { Readers } from "../../readModels/readModelReaders.ts";

/** Senders, and paused workspaces, with waiting mail to look at. Each is one or two cached states. */
const LOOKED_AT_MAX = 1_000;
/** Counting stops here; more are shown as this many. */
export const MESSAGES_DUE_MAX = 10_000;

interface Counting {
  readonly deps: Pick<Dependencies, "workspaces" | "senders">;
  readonly emails: ReadDatabase;
  readonly now: EpochMs;
}

/**
 * How many messages for the relay are due and may leave, counted up to {@link MESSAGES_DUE_MAX}. Leaves out what is held:
 * since the log was restored, by a pause, or until a sender is verified or enabled again. Null if more than {@link
 * LOOKED_AT_MAX} senders have to be looked at, while the read model is unavailable, or if the store does not answer.
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

/** A number that leaves out senders nobody looked at would hide their mail, so it is null instead. */
async function countDue(counting: Counting): Promise<number | null> {
  const { emails, now } = counting;
  // What is due is counted by itself unless it is very much, so mail that waits for its time never counts as looked at.
  const isVeryMuch = hasMoreReadyThan(emails, "relay", now, MESSAGES_DUE_MAX);
  const counts = isVeryMuch ? fromQueueToQueue(counting) : ofDueMessages(counting);
  let count = 0;
  let looked = 0;
  for await (const due of counts) {
    if (looked === LOOKED_AT_MAX) return null;
    looked += 1;
    count += due;
    if (count >= MESSAGES_DUE_MAX) return MESSAGES_DUE_MAX;
  }
  return count;
}

/** How many due messages of each sender may leave. Reads every due message. */
async function* ofDueMessages(counting: Counting): AsyncIterable<number> {
  for (const sender of dueBySender(counting.emails, "relay", counting.now, MESSAGES_DUE_MAX))
    yield (await isPaused(counting, sender.ownerId)) || (await isHeld(counting, sender)) ? 0 : sender.due;
}

/** As {@link ofDueMessages}, but steps over all that a pause or a sender holds, however much that is. */
async function* fromQueueToQueue(counting: Counting): AsyncIterable<number> {
  const { emails, now } = counting;
  const ownerAfter = (id: string) => nextWaitingOwner(emails, "relay", id);
  for (let owner = ownerAfter(""); owner !== null; owner = ownerAfter(owner)) {
    if (await isPaused(counting, owner)) {
      yield 0;
      continue;
    }
    let queue = nextSenderQueue(emails, "relay", owner, FIRST_SENDER);
    for (; queue !== null; queue = nextSenderQueue(emails, "relay", owner, queue)) {
      const isDue = queue.dueAt <= now && !(await isHeld(counting, queue));
      yield isDue ? countReadyOf(emails, queue, now, MESSAGES_DUE_MAX) : 0;
    }
  }
}

async function isPaused({ deps }: Counting, ownerId: string): Promise<boolean> {
  return (await deps.workspaces.get(mailOwnerOf(ownerId).workspaceId))?.paused ?? false;
}

async function isHeld(
  { deps }: Counting,
  sender: Pick<DueOfSender, "authorityId" | "senderId">,
): Promise<boolean> {
  return (await unavailableSender(sender, deps.senders.get)) !== null;
}
