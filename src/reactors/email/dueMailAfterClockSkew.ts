import {
  allDueAt,
  type ClockSkewedEmail,
  clockSkewedEmailsOf,
  deferredAfter,
  type MailLane,
  type QueueCursor,
} from "../../../projections/emails/mailQueue.ts";
import type { DeliveryPolicy } from "../../domain/email/delivery/deliveryPolicy.ts";
import { longestWaitMs } from "../../domain/email/delivery/retrySchedule.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ReadRows } from "../worker/tryReadRows.ts";

interface DueMailAfterClockSkewOptions {
  readonly clock: Clock;
  readonly policy: DeliveryPolicy;
  /** Reads the read model `emails`. */
  readonly read: ReadRows;
}

/** Messages to find in one round, in total and per mail owner. */
const FOUND_MAX = 2_000;
const FOUND_OF_OWNER_MAX = 500;
/** Messages scheduled later than any retry, of which one look picks out the deferred ones. */
const LATE_LOOKED_AT_MAX = 1_000;

/** Finds due mail that the queue, which goes by times, does not show: a clock was ahead, or has gone back. */
interface DueMailAfterClockSkew {
  /** Looks at one mail owner's messages that were to go at once. */
  lookAt(ownerId: string): void;
  /** What was found since the last call, and some messages deferred for longer than any retry waits. */
  take(): readonly ClockSkewedEmail[];
}

export function dueMailAfterClockSkew({
  clock,
  policy,
  read,
}: DueMailAfterClockSkewOptions): DueMailAfterClockSkew {
  let found: ClockSkewedEmail[] = [];
  /** Where the next look at such late messages continues. */
  const places = new Map<MailLane, QueueCursor>();

  const late = (lane: MailLane): readonly ClockSkewedEmail[] => {
    const longest = allDueAt(clock.now() + longestWaitMs(policy));
    const place = places.get(lane);
    const after = place !== undefined && place.dueAt > longest.dueAt ? place : longest;
    const page = read((db) => deferredAfter(db, lane, after, LATE_LOOKED_AT_MAX));
    if (page?.next) places.set(lane, page.next);
    else places.delete(lane);
    return page?.deferred ?? [];
  };

  return {
    lookAt(ownerId) {
      const limit = Math.min(FOUND_OF_OWNER_MAX, FOUND_MAX - found.length);
      if (limit > 0)
        found.push(...(read((db) => clockSkewedEmailsOf(db, ownerId, clock.now(), limit)) ?? []));
    },
    take() {
      const all = [...found, ...late("relay"), ...late("simulator")];
      found = [];
      return all;
    },
  };
}
