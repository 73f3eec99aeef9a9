import { never } from "../../kernel/assert.ts";
import type { Decider } from "../../kernel/event/decider.ts";
import type { StorageEvent } from "./events.ts";

/** A reservation of storage. `until` is null once its owner was seen to exist. */
export interface Reservation {
  readonly bytes: number;
  readonly until: string | null;
}

/**
 * The storage that an account uses. There may be a hundred thousand reservations, so they are kept in two layers, and
 * an event copies the small one: `recent` has what changed since `settled`, null for a released reservation. Look them
 * up with {@link reservationOf} and {@link openReservations}.
 */
export interface Storage {
  readonly settled: ReadonlyMap<string, Reservation>;
  readonly recent: ReadonlyMap<string, Reservation | null>;
  /** The bytes of all open reservations. */
  readonly used: number;
}

const RECENT_MIN = 64;

/** The reservation of `owner`; undefined if it has none. */
export function reservationOf({ settled, recent }: Storage, owner: string): Reservation | undefined {
  const changed = recent.get(owner);
  return changed === undefined ? settled.get(owner) : (changed ?? undefined);
}

/** All open reservations by owner. */
export function* openReservations({ settled, recent }: Storage): Iterable<readonly [string, Reservation]> {
  for (const entry of settled) if (!recent.has(entry[0])) yield entry;
  for (const [owner, reservation] of recent) if (reservation !== null) yield [owner, reservation];
}

type Change = readonly [owner: string, reservation: Reservation | null];

function changed(state: Storage, changes: readonly Change[]): Storage {
  let { used } = state;
  const recent = new Map(state.recent);
  for (const [owner, reservation] of changes) {
    const before = recent.get(owner);
    const had = before === undefined ? state.settled.get(owner) : before;
    used += (reservation?.bytes ?? 0) - (had?.bytes ?? 0);
    recent.set(owner, reservation);
  }
  const next = { settled: state.settled, recent, used };
  // The larger the settled layer, the less often it is copied, so both layers cost about the same.
  if (recent.size <= Math.max(RECENT_MIN, Math.sqrt(state.settled.size))) return next;
  return { settled: new Map(openReservations(next)), recent: new Map(), used };
}

function evolve(state: Storage, event: StorageEvent): Storage {
  switch (event.type) {
    case "StorageReserved": {
      const { holder: owner, bytes, until } = event.data;
      return changed(state, [[owner, { bytes, until }]]);
    }
    case "StorageReleased":
      return changed(state, [[event.data.holder, null]]);
    case "StorageConfirmed":
      return changed(
        state,
        event.data.holders.flatMap((owner): Change[] => {
          const held = reservationOf(state, owner);
          return held === undefined ? [] : [[owner, { ...held, until: null }]];
        }),
      );
    case "StorageCounted":
      return changed(
        state,
        event.data.open.map(({ holder: owner, bytes, until }) => [owner, { bytes, until }]),
      );
    default:
      return never(event);
  }
}

export const storageDecider: Decider<Storage, StorageEvent> = {
  initialState: { settled: new Map(), recent: new Map(), used: 0 },
  evolve,
};
