import { never } from "../../kernel/assert.ts";
import type { Decider } from "../../kernel/event/decider.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import { type EpochMs, epochMs, type TimeSpan } from "../../kernel/time.ts";
import type { InstanceEvent } from "./events.ts";

/** A restoration of the log from a copy, or the like. */
export interface Restoration {
  readonly copyId: string;
  /** `loss`: nobody restored it, but its newest events were found to be gone, as if it were an older copy. */
  readonly from: "import" | "backup" | "loss";
  /** When the copy was taken; after a loss, the time of the newest event left. */
  readonly takenAt: EpochMs;
  readonly sealed: boolean;
  readonly at: EpochMs;
}

/** A copy of the log. */
export interface Copy {
  readonly kind: "backup" | "export";
  readonly at: EpochMs;
  /** The path of the copy; null for the one that this log was imported from. */
  readonly place: string | null;
  /** Whether it is kept up to date. `at` is then the last time that this was recorded. */
  readonly following?: boolean;
}

/** How many copies are remembered; the newest ones. */
const COPIES_MAX = 200;

export interface Instance {
  readonly logId: string;
  readonly sealedDataKey: string;
  readonly contentStoreId: string;
  /** The newest format of its events. */
  readonly format: number;
  /** Null while the log is not frozen. */
  readonly frozenAt: EpochMs | null;
  /** The newest restoration; null for a log that was never restored. */
  readonly restored: Restoration | null;
  /** The copies of all restorations, the oldest first. */
  readonly copyIds: readonly string[];
  /** Whether work from before the restoration waits for the operator. */
  readonly isHeld: boolean;
  /** When nothing was delivered because the log was frozen, or held after a restoration. */
  readonly downtimes: readonly TimeSpan[];
  /** Copies that were taken, the oldest first. */
  readonly copies: readonly Copy[];
}

/** `null` on a log that was never used. */
export type InstanceState = Instance | null;

/**
 * The names of the copies of the log that this one continues, the original first and itself last. After a restoration,
 * positions may hold different events than before.
 */
export function incarnationsOf({ logId, copyIds }: Instance): readonly [string, ...string[]] {
  return [logId, ...copyIds.map((copyId) => `${logId}/${copyId}`)];
}

/** Whether the log accepts nothing more here. */
export function isFrozen(instance: InstanceState): boolean {
  return instance !== null && instance.frozenAt !== null;
}

/** A downtime begins with the first of freeze and hold, and ends when neither is left. */
function withDowntime(state: Instance, from: EpochMs): Instance {
  if (state.downtimes.at(-1)?.to === null) return state;
  return { ...state, downtimes: [...state.downtimes, { from, to: null }] };
}

function withDowntimeEnded(state: Instance, to: EpochMs): Instance {
  if (state.isHeld || state.frozenAt !== null) return state;
  return { ...state, downtimes: state.downtimes.map((span) => (span.to === null ? { ...span, to } : span)) };
}

/** A copy that is kept up to date is recorded again and again; only its newest record counts. */
function withCopy(state: Instance, copy: Copy): Instance {
  const isSame = ({ following, place }: Copy) => following === true && place === copy.place;
  const others = copy.following === true ? state.copies.filter((one) => !isSame(one)) : state.copies;
  return { ...state, copies: [...others, copy].slice(-COPIES_MAX) };
}

type Restored = Extract<InstanceEvent, { type: "InstanceRestored" }>["data"];

function withRestoration(state: Instance, { lost = false, ...data }: Restored): Instance {
  const takenAt = epochMs(data.takenAt);
  const restored = { ...data, from: lost ? ("loss" as const) : data.from, takenAt, at: epochMs(data.at) };
  const copyIds = [...state.copyIds, data.copyId];
  const here = { ...state, frozenAt: null, restored, copyIds, isHeld: true };
  // A frozen log cannot record its own export.
  const isNoted = data.from === "backup" || !data.sealed;
  return withDowntime(isNoted ? here : withCopy(here, { kind: "export", at: takenAt, place: null }), takenAt);
}

function evolveExisting(
  state: Instance,
  event: Exclude<InstanceEvent, { type: "InstanceCreated" }>,
): Instance {
  switch (event.type) {
    case "MasterKeyRotated":
      return { ...state, sealedDataKey: event.data.sealedDataKey };
    case "LogFormatRaised":
      return { ...state, format: Math.max(state.format, event.data.format) };
    case "InstanceSealed": {
      const frozenAt = epochMs(event.data.at);
      return withDowntime({ ...state, frozenAt }, frozenAt);
    }
    case "InstanceUnsealed":
      return withDowntimeEnded({ ...state, frozenAt: null }, epochMs(event.data.at));
    case "InstanceRestored":
      return withRestoration(state, event.data);
    case "InstanceCopied": {
      const { kind, place, following } = event.data;
      return withCopy(state, { kind, place, at: epochMs(event.data.at), ...omitUndefined({ following }) });
    }
    case "InstanceResumed":
      return withDowntimeEnded({ ...state, isHeld: false }, epochMs(event.data.at));
    default:
      return never(event);
  }
}

function evolve(state: InstanceState, event: InstanceEvent): InstanceState {
  if (event.type === "InstanceCreated") {
    const nothing = { frozenAt: null, restored: null, copyIds: [], isHeld: false };
    return { ...event.data, ...nothing, format: 1, downtimes: [], copies: [] };
  }
  return state === null ? null : evolveExisting(state, event);
}

export const instanceDecider: Decider<InstanceState, InstanceEvent> = { initialState: null, evolve };
