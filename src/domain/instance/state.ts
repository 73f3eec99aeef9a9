import { never } from "../../kernel/assert.ts";
import type { Decider } from "../../kernel/decider.ts";
import type { InstanceEvent } from "./events.ts";

export interface Instance {
  readonly logId: string;
  readonly sealedDataKey: string;
  readonly contentStoreId: string;
  /** The newest format of its events. */
  readonly format: number;
}

/** `null` on a log that was never used. */
export type InstanceState = Instance | null;

function evolve(state: InstanceState, event: InstanceEvent): InstanceState {
  switch (event.type) {
    case "InstanceCreated":
      return { ...event.data, format: 1 };
    case "MasterKeyRotated":
      return state === null ? null : { ...state, sealedDataKey: event.data.sealedDataKey };
    case "LogFormatRaised":
      return state === null ? null : { ...state, format: Math.max(state.format, event.data.format) };
    default:
      return never(event);
  }
}

export const instanceDecider: Decider<InstanceState, InstanceEvent> = { initialState: null, evolve };
