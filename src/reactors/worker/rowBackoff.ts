import type { Clock } from "../../ports/clock.ts";

/** How long to leave a finished row alone: the read model may still show it. */
const DONE_REST_MS = 2_000;
const FAULT_REST_MS_FIRST = 500;
const FAULT_REST_MS_MAX = 60_000;

interface Rest {
  readonly until: number;
  readonly faults: number;
}

/** Tracks which rows are in hand and which rest: briefly when done, longer and longer after faults. */
export interface RowBackoff {
  isFree(id: string): boolean;
  /** The rows in hand or resting. */
  busy(): readonly string[];
  begin(id: string): void;
  done(id: string): void;
  failed(id: string): void;
}

export function rowBackoff(clock: Clock): RowBackoff {
  const atHand = new Set<string>();
  const resting = new Map<string, Rest>();
  const rests = ({ until }: Rest) => until > clock.monotonicMs();
  /** A row's faults are remembered for a while after its rest, so the next rest is longer. */
  const isOver = ({ until, faults }: Rest) =>
    until + (faults > 0 ? FAULT_REST_MS_MAX : 0) <= clock.monotonicMs();
  const end = (id: string, restMs: number, faults: number) => {
    atHand.delete(id);
    resting.set(id, { until: clock.monotonicMs() + restMs, faults });
  };
  return {
    isFree(id) {
      const rest = resting.get(id);
      return !atHand.has(id) && (rest === undefined || !rests(rest));
    },
    busy() {
      for (const [id, rest] of resting) if (isOver(rest)) resting.delete(id);
      const restingNow = [...resting].filter(([, rest]) => rests(rest)).map(([id]) => id);
      return [...atHand, ...restingNow];
    },
    begin(id) {
      atHand.add(id);
    },
    done: (id) => end(id, DONE_REST_MS, 0),
    failed(id) {
      const faults = (resting.get(id)?.faults ?? 0) + 1;
      end(id, Math.min(FAULT_REST_MS_MAX, FAULT_REST_MS_FIRST * 2 ** (faults - 1)), faults);
    },
  };
}
