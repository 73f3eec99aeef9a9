import { type Decision, decided } from "../../kernel/event/decider.ts";
import type { SuppressionEvent } from "./events.ts";
import type { SuppressionState } from "./state.ts";

type Stored = Extract<SuppressionEvent, { type: "SuppressionAddressStored" }>["data"];
type Suppressed = Extract<SuppressionEvent, { type: "RecipientSuppressed" }>["data"];

/** A repeat gives no events: the first reason stays. `stored` is null if the address was erased before. */
export function suppress(
  state: SuppressionState,
  stored: Stored | null,
  facts: Suppressed,
): Decision<"suppressed" | "alreadySuppressed", SuppressionEvent> {
  if (state !== null) return decided("alreadySuppressed");
  return decided(
    "suppressed",
    ...(stored === null ? [] : [{ type: "SuppressionAddressStored", data: stored } as const]),
    { type: "RecipientSuppressed", data: facts },
  );
}

/** Allows mail to the recipient again. A repeat gives no events. */
export function unsuppress(
  state: SuppressionState,
): Decision<"unsuppressed" | "notSuppressed", SuppressionEvent> {
  if (state === null) return decided("notSuppressed");
  const { workspaceId, recipientHash } = state;
  return decided("unsuppressed", { type: "RecipientUnsuppressed", data: { workspaceId, recipientHash } });
}
