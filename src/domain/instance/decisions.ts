import type { Decision } from "../../kernel/event/decider.ts";
import { type EpochMs, rfc3339 } from "../../kernel/time.ts";
import type { InstanceEvent } from "./events.ts";
import type { Copy, InstanceState, Restoration } from "./state.ts";

/** Stops every instance of the log. A repeat gives no events. The outcome is since when it is sealed. */
export function sealInstance(state: InstanceState, now: EpochMs): Decision<EpochMs | null, InstanceEvent> {
  if (state === null) return { outcome: null, events: [] };
  if (state.sealedAt !== null) return { outcome: state.sealedAt, events: [] };
  return { outcome: now, events: [{ type: "InstanceSealed", data: { at: rfc3339(now) } }] };
}

/** Lets the log go on where it is. A repeat gives no events. */
export function unsealInstance(
  state: InstanceState,
  now: EpochMs,
): Decision<"unsealed" | "notSealed", InstanceEvent> {
  if (state === null || state.sealedAt === null) return { outcome: "notSealed", events: [] };
  return { outcome: "unsealed", events: [{ type: "InstanceUnsealed", data: { at: rfc3339(now) } }] };
}

/** Notes that a copy is about to be taken. A log that was sealed takes no note. */
export function copyInstance(
  state: InstanceState,
  { kind, at, place }: Copy & { readonly place: string },
): Decision<"noted" | "notTaken", InstanceEvent> {
  if (state === null || state.sealedAt !== null) return { outcome: "notTaken", events: [] };
  return { outcome: "noted", events: [{ type: "InstanceCopied", data: { kind, place, at: rfc3339(at) } }] };
}

/** Notes that the log was brought here; a repeat, by the id of the copy, gives no events. */
export function restoreInstance(
  state: InstanceState,
  { takenAt, at, ...facts }: Restoration,
): Decision<"restored" | "notFound", InstanceEvent> {
  if (state === null) return { outcome: "notFound", events: [] };
  if (state.restored?.copyId === facts.copyId) return { outcome: "restored", events: [] };
  const data = { ...facts, takenAt: rfc3339(takenAt), at: rfc3339(at) };
  return { outcome: "restored", events: [{ type: "InstanceRestored", data }] };
}

/** Lets go on what was held since the log was restored. The outcome is what it was held since; null: nothing was. */
export function resumeInstance(
  state: InstanceState,
  now: EpochMs,
): Decision<Restoration | null, InstanceEvent> {
  if (state === null || !state.isHeld) return { outcome: null, events: [] };
  return { outcome: state.restored, events: [{ type: "InstanceResumed", data: { at: rfc3339(now) } }] };
}
