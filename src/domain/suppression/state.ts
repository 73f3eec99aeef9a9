import { never } from "../../kernel/assert.ts";
import type { Decider } from "../../kernel/event/decider.ts";
import type { SuppressionEvent } from "./events.ts";

type Suppressed = Extract<SuppressionEvent, { type: "RecipientSuppressed" }>["data"];

/** `null` while mail to this recipient is allowed. */
export type SuppressionState = Suppressed | null;

function evolve(state: SuppressionState, event: SuppressionEvent): SuppressionState {
  switch (event.type) {
    case "SuppressionAddressStored":
    case "SuppressionAddressErased":
      return state;
    case "RecipientSuppressed":
      return event.data;
    case "RecipientUnsuppressed":
      return null;
    default:
      return never(event);
  }
}

export const suppressionDecider: Decider<SuppressionState, SuppressionEvent> = { initialState: null, evolve };
