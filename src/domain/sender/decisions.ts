import type { Decision } from "../../kernel/decider.ts";
import type { SenderEvent } from "./events.ts";
import type { SenderState } from "./state.ts";

type Added = Extract<SenderEvent, { type: "SenderAdded" }>["data"];

/** A repeat gives no events. */
export function addSender(
  state: SenderState,
  sender: Added,
): Decision<"added" | "alreadyAdded", SenderEvent> {
  if (state !== null) return { outcome: "alreadyAdded", events: [] };
  return { outcome: "added", events: [{ type: "SenderAdded", data: sender }] };
}

/** A repeat gives no events. */
export function verifySender(
  state: SenderState,
  method: string,
): Decision<"verified" | "notFound", SenderEvent> {
  if (state === null) return { outcome: "notFound", events: [] };
  return {
    outcome: "verified",
    events: state.verified ? [] : [{ type: "SenderVerified", data: { method } }],
  };
}
