import { never } from "../../kernel/assert.ts";
import type { Decider } from "../../kernel/event/decider.ts";
import { type EpochMs, epochMs, type TimeSpan } from "../../kernel/time.ts";
import type { InstanceEvent } from "./events.ts";

/** Where the log was brought here from, and when. */
export interface Restoration {
  readonly copyId: string;
  readonly from: "import" | "backup";
  readonly takenAt: EpochMs;
  readonly sealed: boolean;
  readonly at: EpochMs;
}

/** A copy of the log that was taken. */
export interface Copy {
  readonly kind: "backup" | "export";
  readonly at: EpochMs;
  /** Where it was written to; null for the one that this log was imported from. */
  readonly place: string | null;
}

/** Of more copies only the newest are remembered. */
const COPIES_MAX = 200;

export interface Instance {
  readonly logId: string;
  readonly sealedDataKey: string;
  readonly contentStoreId: string;
  /** The newest format of its events. */
  readonly format: number;
  /** Null while the log goes on here. */
  readonly sealedAt: EpochMs | null;
  /** The newest one; null on a log that was begun where it is. */
  readonly restored: Restoration | null;
  /** Whether what was not done when the log was restored waits for the operator. */
  readonly isHeld: boolean;
  /** When the operator last let things go on. */
  readonly resumedAt: EpochMs | null;
  /** Times in which nothing was delivered because the log was sealed, or held after it was restored. */
  readonly stops: readonly TimeSpan[];
  /** Copies that were taken, the oldest first. */
  readonly copies: readonly Copy[];
}

/** `null` on a log that was never used. */
export type InstanceState = Instance | null;

/** A stop begins with the first reason for one and lasts until there is none. */
function stopped(state: Instance, from: EpochMs): Instance {
  if (state.stops.at(-1)?.to === null) return state;
  return { ...state, stops: [...state.stops, { from, to: null }] };
}

function goneOn(state: Instance, to: EpochMs): Instance {
  if (state.isHeld || state.sealedAt !== null) return state;
  return { ...state, stops: state.stops.map((stop) => (stop.to === null ? { ...stop, to } : stop)) };
}

function copied(state: Instance, copy: Copy): Instance {
  return { ...state, copies: [...state.copies, copy].slice(-COPIES_MAX) };
}

type Restored = Extract<InstanceEvent, { type: "InstanceRestored" }>["data"];

function restored(state: Instance, data: Restored): Instance {
  const takenAt = epochMs(data.takenAt);
  const restoration = { ...data, takenAt, at: epochMs(data.at) };
  const here = { ...state, sealedAt: null, restored: restoration, isHeld: true };
  // A log that was sealed takes no note of its own export.
  const isNoted = data.from === "backup" || !data.sealed;
  return stopped(isNoted ? here : copied(here, { kind: "export", at: takenAt, place: null }), takenAt);
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
      const sealedAt = epochMs(event.data.at);
      return stopped({ ...state, sealedAt }, sealedAt);
    }
    case "InstanceUnsealed":
      return goneOn({ ...state, sealedAt: null }, epochMs(event.data.at));
    case "InstanceRestored":
      return restored(state, event.data);
    case "InstanceCopied": {
      const { kind, place } = event.data;
      return copied(state, { kind, place, at: epochMs(event.data.at) });
    }
    case "InstanceResumed": {
      const resumedAt = epochMs(event.data.at);
      return goneOn({ ...state, isHeld: false, resumedAt }, resumedAt);
    }
    default:
      return never(event);
  }
}

function evolve(state: InstanceState, event: InstanceEvent): InstanceState {
  if (event.type === "InstanceCreated") {
    const nothing = { sealedAt: null, restored: null, isHeld: false, resumedAt: null };
    return { ...event.data, ...nothing, format: 1, stops: [], copies: [] };
  }
  return state === null ? null : evolveExisting(state, event);
}

export const instanceDecider: Decider<InstanceState, InstanceEvent> = { initialState: null, evolve };
