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

/** The messages for the relay that are due and may leave. */
export interface MessagesDue {
  /** Counted up to {@link MESSAGES_DUE_MAX}. */
  readonly count: number;
  /** The one that has been due longest; null if none is due. */
  readonly oldest: { readonly since: EpochMs; readonly workspaceId: string } | null;
}

/**
 * Leaves out what is held: since the log was restored, by a pause, or until a sender is verified or enabled again. Null
 * if more than {@link LOOKED_AT_MAX} senders have to be looked at, while the read model is unavailable, or if the store
 * does not answer.
 */
export async function messagesDue(
  deps: Dependencies,
  readers: Pick<Readers, "reader">,
): Promise<MessagesDue | null> {
  try {
    return await countDue({ deps, emails: readers.reader("emails"), now: deps.clock.now() });
  } catch (error) {
    if (!(error instanceof ReadDatabaseError)) requireStoreError(error);
    return null;
  }
}

/** Messages of one sender, or of one of its queues, that may leave. */
interface DueGroup {
  readonly ownerId: string;
  readonly dueAt: EpochMs;
  /** Counted up to `max`. */
  count(max: number): number;
}

/** A number that leaves out senders nobody looked at would hide their mail, so it is null instead. */
async function countDue(counting: Counting): Promise<MessagesDue | null> {
  const { emails, now } = counting;
  // What is due is counted by itself unless it is very much, so mail that waits for its time never counts as looked at.
  const isVeryMuch = hasMoreReadyThan(emails, "relay", now, MESSAGES_DUE_MAX);
  const groups = isVeryMuch ? fromQueueToQueue(counting) : ofDueMessages(counting);
  let [count, looked] = [0, 0];
  let first: DueGroup | null = null;
  for await (const group of groups) {
    if (looked === LOOKED_AT_MAX && count < MESSAGES_DUE_MAX) return null;
    if (looked === LOOKED_AT_MAX) break;
    looked += 1;
    if (group === null) continue;
    if (count < MESSAGES_DUE_MAX) count += group.count(MESSAGES_DUE_MAX - count);
    if (first === null || group.dueAt < first.dueAt) first = group;
  }
  const oldest = first && { since: first.dueAt, workspaceId: mailOwnerOf(first.ownerId).workspaceId };
  return { count, oldest };
}

/** The due messages of each sender; null for one whose mail is held. Reads every due message. */
async function* ofDueMessages(counting: Counting): AsyncIterable<DueGroup | null> {
  for (const sender of dueBySender(counting.emails, "relay", counting.now, MESSAGES_DUE_MAX)) {
    const mayNotLeave = (await isPaused(counting, sender.ownerId)) || (await isHeld(counting, sender));
    yield mayNotLeave ? null : { ...sender, count: (max) => Math.min(sender.due, max) };
  }
}

/** As {@link ofDueMessages}, but steps over all that a pause or a sender holds, however much that is. */
async function* fromQueueToQueue(counting: Counting): AsyncIterable<DueGroup | null> {
  const { emails, now } = counting;
  const ownerAfter = (id: string) => nextWaitingOwner(emails, "relay", id);
  for (let owner = ownerAfter(""); owner !== null; owner = ownerAfter(owner)) {
    if (await isPaused(counting, owner)) {
      yield null;
      continue;
    }
    let queue = nextSenderQueue(emails, "relay", owner, FIRST_SENDER);
    for (; queue !== null; queue = nextSenderQueue(emails, "relay", owner, queue)) {
      const due = queue;
      const isDue = due.dueAt <= now && !(await isHeld(counting, due));
      yield isDue ? { ...due, count: (max) => countReadyOf(emails, due, now, max) } : null;
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
