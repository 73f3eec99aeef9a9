import { LRUCache } from "lru-cache";
import {
  BEHIND_ALL_IDS,
  type DueEmail,
  FIRST_SENDER,
  hasMoreReadyThan,
  type MailLane,
  type MailQueueKey,
  nextSenderQueue,
  nextWaitingOwner,
  type QueuedEmail,
  readyEmails,
  readyEmailsOf,
  type SenderQueue,
} from "../../../projections/emails/mailQueue.ts";
import { mailOwnerOf } from "../../kernel/liveOrTestOwner.ts";
import type { EpochMs } from "../../kernel/time.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import type { ReadyItems } from "../worker/claimScheduler.ts";

/** Steps from sender to sender, or from workspace to workspace, in one look; each reads one row. */
export const LOOK_STEPS_MAX = 256;
/** How many messages of one sender, and of one workspace, a look shows before the next one's turn. */
const OF_SENDER_MAX = 32;
const OF_WORKSPACE_MAX = 64;
/** Mail owners whose next sender is remembered for the next look. */
const PLACES_MAX = 10_000;

/** Among the ids to leave alone it stands for all messages that need the content store. */
export const CONTENT_STORE = "content-store";

/** What a message waits for together with others: each can be left alone with all its messages. */
export function ownersOf({
  workspaceId,
  senderId,
  authorityId,
  needsContentStore,
}: DueEmail): readonly string[] {
  const owners = [workspaceId, senderId, authorityId];
  return needsContentStore ? [...owners, CONTENT_STORE] : owners;
}

/** What to show, and what to leave out. */
interface ReadyMailRequest {
  readonly now: EpochMs;
  /** Ids of messages, workspaces and senders to leave alone, and {@link CONTENT_STORE}. */
  readonly without: ReadonlySet<string>;
  readonly limit: number;
}

/** What one look has seen so far. */
interface Seen extends ReadyMailRequest {
  readonly db: ReadDatabase;
  readonly items: DueEmail[];
  /** Queues with more to show, and the last message shown of each. */
  cut: { readonly queue: SenderQueue; readonly after: QueuedEmail }[];
  steps: number;
  /** False when something is left for the next look, which continues there. */
  isRound: boolean;
}

/**
 * Shows the ready mail of one lane. If one look cannot show all of it, workspaces take turns, and so do the senders
 * of each: neither a long backlog nor mail that may not leave holds up the others' mail. A look reads at most {@link
 * LOOK_STEPS_MAX} rows, three times as many as it shows, and three times the messages that are left alone by id.
 */
export class FairMailQueue {
  /** The mail owner that had the last turn. */
  private ownerId = "";
  /** The sender that had the last turn, for each owner with senders still waiting for theirs. */
  private readonly cursors = new LRUCache<string, MailQueueKey>({ max: PLACES_MAX });

  constructor(private readonly lane: MailLane) {}

  look(db: ReadDatabase, request: ReadyMailRequest): ReadyItems<DueEmail> {
    const { now, without, limit } = request;
    if (!hasMoreReadyThan(db, this.lane, now, limit)) {
      const items = readyEmails(db, this.lane, now, limit).filter((email) => !isLeftAlone(email, without));
      return { items, more: "none" };
    }
    const seen: Seen = { ...request, db, items: [], cut: [], steps: 0, isRound: true };
    this.takeTurns(seen);
    fillUp(seen);
    if (!seen.isRound) return { items: seen.items, more: "next" };
    return { items: seen.items, more: seen.cut.length > 0 ? "afterThese" : "none" };
  }

  /** Goes round the mail owners once, or until the look is full. */
  private takeTurns(seen: Seen): void {
    const begun = this.ownerId;
    let isBehindEnd = false;
    while (mayGoOn(seen)) {
      seen.steps += 1;
      const next = nextWaitingOwner(seen.db, this.lane, this.ownerId);
      if (next === null) {
        if (isBehindEnd || begun === "") return;
        isBehindEnd = true;
        this.ownerId = "";
      } else if (isBehindEnd && next > begun) {
        this.ownerId = begun;
        return;
      } else {
        this.ownerId = next;
        if (!seen.without.has(mailOwnerOf(next).workspaceId)) this.takeTurnOf(next, seen);
      }
    }
    seen.isRound = false;
  }

  /** Goes round one mail owner's senders once, or until the look or the owner's share is full. */
  private takeTurnOf(ownerId: string, seen: Seen): void {
    const begun = this.cursors.get(ownerId) ?? FIRST_SENDER;
    const itemsMax = Math.min(seen.limit, seen.items.length + OF_WORKSPACE_MAX);
    let cursor = begun;
    let isBehindEnd = false;
    while (mayGoOn(seen) && seen.items.length < itemsMax) {
      seen.steps += 1;
      const queue = nextSenderQueue(seen.db, this.lane, ownerId, cursor);
      if (queue === null) {
        if (isBehindEnd || begun === FIRST_SENDER) return;
        isBehindEnd = true;
        cursor = FIRST_SENDER;
      } else {
        if (isBehindEnd && isBehind(queue, begun)) return;
        cursor = takeFrom(queue, seen);
      }
    }
    seen.isRound = false;
    this.cursors.set(ownerId, cursor);
  }
}

function mayGoOn({ steps, items, limit }: Seen): boolean {
  return steps < LOOK_STEPS_MAX && items.length < limit;
}

function isBehind(queue: MailQueueKey, other: MailQueueKey): boolean {
  if (queue.authorityId !== other.authorityId) return queue.authorityId > other.authorityId;
  if (queue.senderId !== other.senderId) return queue.senderId > other.senderId;
  return queue.needsContentStore > other.needsContentStore;
}

/** Whether the message, its workspace, its sender or the content store is to be left alone. */
function isLeftAlone(email: DueEmail, without: ReadonlySet<string>): boolean {
  return without.has(email.id) || ownersOf(email).some((owner) => without.has(owner));
}

/** Shows messages of a queue, if they may go. Returns where the next look continues. */
function takeFrom(queue: SenderQueue, seen: Seen): MailQueueKey {
  if (seen.without.has(queue.authorityId)) return { ...queue, senderId: BEHIND_ALL_IDS };
  const isOfStore = queue.needsContentStore === 1 && seen.without.has(CONTENT_STORE);
  if (!isOfStore && !seen.without.has(queue.senderId) && queue.dueAt <= seen.now)
    show(seen, queue, OF_SENDER_MAX);
  return queue;
}

/** Shows at least `atLeast` messages of a queue if it has them, and remembers if it has more. */
function show(seen: Seen, queue: SenderQueue, atLeast: number, behind: QueuedEmail | null = null): void {
  const wanted = Math.min(atLeast, seen.limit - seen.items.length);
  let after = behind;
  let shown = 0;
  // Messages left alone one by one are the oldest and come together, so the pages grow.
  for (let limit = wanted; shown < wanted; limit *= 2) {
    const page = readyEmailsOf(seen.db, queue, { now: seen.now, after, limit });
    const free = page.filter(({ id }) => !seen.without.has(id)).slice(0, wanted - shown);
    seen.items.push(...free);
    shown += free.length;
    after = (shown === wanted ? free : page).at(-1) ?? after;
    if (page.length < limit && shown < wanted) return;
  }
  if (after !== null) seen.cut.push({ queue, after });
}

/** When few senders have mail there is room left: those show more of theirs. */
function fillUp(seen: Seen): void {
  while (seen.cut.length > 0 && seen.items.length < seen.limit) {
    const share = Math.ceil((seen.limit - seen.items.length) / seen.cut.length);
    const cut = seen.cut.splice(0);
    for (const { queue, after } of cut) {
      if (seen.items.length < seen.limit) show(seen, queue, share, after);
      else seen.cut.push({ queue, after });
    }
  }
}
