import type { Decision } from "../../kernel/decider.ts";
import type { SuppressionEvent } from "./events.ts";
import type { SuppressionState } from "./state.ts";

type Suppressed = Extract<SuppressionEvent, { type: "RecipientSuppressed" }>["data"];

/** A repeat gives no events: the first reason stays. */
export function suppress(
  state: SuppressionState,
  address: string,
  facts: Suppressed,
): Decision<"suppressed" | "alreadySuppressed", SuppressionEvent> {
  if (state !== null) return { outcome: "alreadySuppressed", events: [] };
  return {
    outcome: "suppressed",
    events: [
      { type: "SuppressionAddressStored", data: { address } },
      { type: "RecipientSuppressed", data: facts },
    ],
  };
}
