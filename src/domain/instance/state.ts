import { never } from "../../kernel/assert.ts";
import type { Decider } from "../../kernel/decider.ts";
import type { InstanceEvent } from "./events.ts";

export interface Instance {
  readonly logId: string;
  readonly sealedDataKey: string;
  readonly contentStoreId: string;
}

/** `null` on a log that was never used. */
export type InstanceState = Instance | null;

function evolve(state: InstanceState, event: InstanceEvent): InstanceState {
  switch (event.type) {
    case "InstanceCreated":
      return event.data;
    case "MasterKeyRotated":
      return state === null ? null : { ...state, sealedDataKey: event.data.sealedDataKey };
    default:
      return never(event);
  }
}

export const instanceDecider: Decider<InstanceState, InstanceEvent> = { initialState: null, evolve };
