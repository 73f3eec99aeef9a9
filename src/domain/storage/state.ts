import { never } from "../../kernel/assert.ts";
import type { Decider } from "../../kernel/event/decider.ts";
import type { StorageEvent } from "./events.ts";

/** What a holder has. `until` is null once the holder was seen to exist. */
export interface Reservation {
  readonly bytes: number;
  readonly until: string | null;
}

/**
 * A workspace's allowance as it is used. A workspace may have a hundred thousand holders, so the state is kept in
 * two layers, and an event copies the small one: `recent` holds what has changed since `settled`, null for what
 * is gone. Look things up with {@link reservationOf} and {@link openReservations}.
 */
export interface Storage {
  readonly settled: ReadonlyMap<string, Reservation>;
  readonly recent: ReadonlyMap<string, Reservation | null>;
  /** The sum of all that is held. */
  readonly used: number;
}

const RECENT_MIN = 64;

/** What `holder` has; undefined when it has nothing. */
export function reservationOf({ settled, recent }: Storage, holder: string): Reservation | undefined {
  const changed = recent.get(holder);
  return changed === undefined ? settled.get(holder) : (changed ?? undefined);
}

/** Everything that is held, each holder with what it has. */
export function* openReservations({ settled, recent }: Storage): Iterable<readonly [string, Reservation]> {
  for (const entry of settled) if (!recent.has(entry[0])) yield entry;
  for (const [holder, reservation] of recent) if (reservation !== null) yield [holder, reservation];
}

type Change = readonly [holder: string, reservation: Reservation | null];

function changed(state: Storage, changes: readonly Change[]): Storage {
  let { used } = state;
  const recent = new Map(state.recent);
  for (const [holder, reservation] of changes) {
    const before = recent.get(holder);
    const had = before === undefined ? state.settled.get(holder) : before;
    used += (reservation?.bytes ?? 0) - (had?.bytes ?? 0);
    recent.set(holder, reservation);
  }
  const next = { settled: state.settled, recent, used };
  // The larger the whole, the rarer it is copied: both layers cost about the same.
  if (recent.size <= Math.max(RECENT_MIN, Math.sqrt(state.settled.size))) return next;
  return { settled: new Map(openReservations(next)), recent: new Map(), used };
}

function evolve(state: Storage, event: StorageEvent): Storage {
  switch (event.type) {
    case "StorageReserved": {
      const { holder, bytes, until } = event.data;
      return changed(state, [[holder, { bytes, until }]]);
    }
    case "StorageReleased":
      return changed(state, [[event.data.holder, null]]);
    case "StorageConfirmed":
      return changed(
        state,
        event.data.holders.flatMap((holder): Change[] => {
          const held = reservationOf(state, holder);
          return held === undefined ? [] : [[holder, { ...held, until: null }]];
        }),
      );
    case "StorageCounted":
      return changed(
        state,
        event.data.open.map(({ holder, bytes, until }) => [holder, { bytes, until }]),
      );
    default:
      return never(event);
  }
}

export const storageDecider: Decider<Storage, StorageEvent> = {
  initialState: { settled: new Map(), recent: new Map(), used: 0 },
  evolve,
};
