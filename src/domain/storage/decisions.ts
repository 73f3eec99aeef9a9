import type { Decision } from "../../kernel/event/decider.ts";
import { type EpochMs, rfc3339 } from "../../kernel/time.ts";
import type { StorageEvent } from "./events.ts";
import { reservationOf, type Storage } from "./state.ts";

export interface ReserveRequest {
  readonly holder: string;
  /** All that the holder shall have; what it has already is replaced. */
  readonly bytes: number;
  readonly until: EpochMs;
  /** The workspace's allowance, in bytes. */
  readonly limit: number;
  /** What requests hold that race for the same message: one of them at most comes to be, so it does not count. */
  readonly racingBytes?: number;
}

/** Never takes what comes to be over the limit. What the holder has already gives no events. */
export function reserveStorage(
  state: Storage,
  { holder, bytes, until, limit, racingBytes = 0 }: ReserveRequest,
): Decision<"reserved" | "exceeded", StorageEvent> {
  const held = reservationOf(state, holder);
  if (held?.bytes === bytes) return { outcome: "reserved", events: [] };
  if (state.used - racingBytes - (held?.bytes ?? 0) + bytes > limit)
    return { outcome: "exceeded", events: [] };
  const data = { holder, bytes, until: rfc3339(until) };
  return { outcome: "reserved", events: [{ type: "StorageReserved", data }] };
}

/** What is not held gives no events. */
export function releaseStorage(state: Storage, holder: string): Decision<"released", StorageEvent> {
  if (reservationOf(state, holder) === undefined) return { outcome: "released", events: [] };
  return { outcome: "released", events: [{ type: "StorageReleased", data: { holder } }] };
}

/** The holders exist: nobody needs to look for them again. Those that hold nothing, or were seen before, are left out. */
export function confirmStorage(
  state: Storage,
  holders: readonly string[],
): Decision<"confirmed", StorageEvent> {
  const news = holders.filter((holder) => (reservationOf(state, holder)?.until ?? null) !== null);
  if (news.length === 0) return { outcome: "confirmed", events: [] };
  return { outcome: "confirmed", events: [{ type: "StorageConfirmed", data: { holders: news } }] };
}

/**
 * Says once more what those of `holders` have that hold anything. `before` is given with the last of them: then all
 * that is held was said at that revision or later.
 */
export function countStorage(
  state: Storage,
  holders: readonly string[],
  before?: number,
): Decision<"counted", StorageEvent> {
  const open = holders.flatMap((holder) => {
    const held = reservationOf(state, holder);
    return held === undefined ? [] : [{ holder, bytes: held.bytes, until: held.until }];
  });
  return {
    outcome: "counted",
    events: [{ type: "StorageCounted", data: { open, ...(before === undefined ? {} : { before }) } }],
  };
}
