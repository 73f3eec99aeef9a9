import { type Decision, decided } from "../../kernel/event/decider.ts";
import { type EpochMs, rfc3339 } from "../../kernel/time.ts";
import type { StorageEvent } from "./events.ts";
import { reservationOf, type Storage } from "./state.ts";

export interface ReserveRequest {
  /** `attachment-<id>` or `email-<id>/<content event id>`. */
  readonly owner: string;
  /** The whole reservation of the owner: replaces what it has. */
  readonly bytes: number;
  readonly until: EpochMs;
  /** The account's quota, in bytes. */
  readonly limit: number;
  /** Reservations of racing requests for the same message. They do not count: at most one of them succeeds. */
  readonly racingBytes?: number;
}

/** Reserves storage up to the limit. A repeat gives no events. */
export function reserveStorage(
  state: Storage,
  { owner, bytes, until, limit, racingBytes = 0 }: ReserveRequest,
): Decision<"reserved" | "exceeded", StorageEvent> {
  const held = reservationOf(state, owner);
  if (held?.bytes === bytes) return decided("reserved");
  if (state.used - racingBytes - (held?.bytes ?? 0) + bytes > limit) return decided("exceeded");
  const data = { holder: owner, bytes, until: rfc3339(until) };
  return decided("reserved", { type: "StorageReserved", data });
}

/** Releases a reservation. Without one there are no events. */
export function releaseStorage(state: Storage, owner: string): Decision<"released", StorageEvent> {
  if (reservationOf(state, owner) === undefined) return decided("released");
  return decided("released", { type: "StorageReleased", data: { holder: owner } });
}

/** Marks reservations as confirmed: their owners exist. Leaves out owners without a reservation and confirmed ones. */
export function confirmStorage(
  state: Storage,
  owners: readonly string[],
): Decision<"confirmed", StorageEvent> {
  const news = owners.filter((owner) => (reservationOf(state, owner)?.until ?? null) !== null);
  if (news.length === 0) return decided("confirmed");
  return decided("confirmed", { type: "StorageConfirmed", data: { holders: news } });
}

/**
 * Records the reservations of `owners` again, so the stream can be truncated. `before` comes with the last page: every
 * open reservation was recorded at that revision or later.
 */
export function countStorage(
  state: Storage,
  owners: readonly string[],
  before?: number,
): Decision<"counted", StorageEvent> {
  const open = owners.flatMap((owner) => {
    const held = reservationOf(state, owner);
    return held === undefined ? [] : [{ holder: owner, bytes: held.bytes, until: held.until }];
  });
  return decided("counted", {
    type: "StorageCounted",
    data: { open, ...(before === undefined ? {} : { before }) },
  });
}
