import { type Decision, decided } from "../../kernel/event/decider.ts";
import { type EpochMs, rfc3339 } from "../../kernel/time.ts";
import type { InstanceEvent } from "./events.ts";
import type { Copy, InstanceState, Restoration } from "./state.ts";

/** Freezes the log: every instance stops. A repeat gives no events. The outcome is the time of the freeze. */
export function freezeInstance(state: InstanceState, now: EpochMs): Decision<EpochMs | null, InstanceEvent> {
  if (state === null) return decided(null);
  if (state.frozenAt !== null) return decided(state.frozenAt);
  return decided(now, { type: "InstanceSealed", data: { at: rfc3339(now) } });
}

/** Ends the freeze. A repeat gives no events. */
export function unfreezeInstance(
  state: InstanceState,
  now: EpochMs,
): Decision<"unfrozen" | "notFrozen", InstanceEvent> {
  if (state === null || state.frozenAt === null) return decided("notFrozen");
  return decided("unfrozen", { type: "InstanceUnsealed", data: { at: rfc3339(now) } });
}

/** Records that a copy is about to be taken. A frozen log accepts no more events. */
export function copyInstance(
  state: InstanceState,
  { kind, at, place }: Copy & { readonly place: string },
): Decision<"noted" | "notTaken", InstanceEvent> {
  if (state === null || state.frozenAt !== null) return decided("notTaken");
  return decided("noted", { type: "InstanceCopied", data: { kind, place, at: rfc3339(at) } });
}

/** Records that the log was restored here. A repeat with the same `copyId` gives no events. */
export function restoreInstance(
  state: InstanceState,
  { takenAt, at, ...facts }: Restoration,
): Decision<"restored" | "notFound", InstanceEvent> {
  if (state === null) return decided("notFound");
  if (state.restored?.copyId === facts.copyId) return decided("restored");
  const data = { ...facts, takenAt: rfc3339(takenAt), at: rfc3339(at) };
  return decided("restored", { type: "InstanceRestored", data });
}

/** Ends the hold that a restoration began. The outcome is that restoration; null if nothing is held. */
export function resumeInstance(
  state: InstanceState,
  now: EpochMs,
): Decision<Restoration | null, InstanceEvent> {
  if (state === null || !state.isHeld) return decided(null);
  return decided(state.restored, { type: "InstanceResumed", data: { at: rfc3339(now) } });
}

/** Records that events of this format are about to be written, unless the log is already at it or past it. */
export function raiseLogFormat(state: InstanceState, format: number): Decision<null, InstanceEvent> {
  const isRaised = state !== null && state.format < format;
  return isRaised ? decided(null, { type: "LogFormatRaised", data: { format } }) : decided(null);
}
