import { type Decision, decided } from "../../kernel/event/decider.ts";
import { type EpochMs, rfc3339 } from "../../kernel/time.ts";
import type { InstanceEvent } from "./events.ts";
import { type Copy, type InstanceState, incarnationsOf, type Restoration } from "./state.ts";

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
  { kind, at, place, following = false }: Copy & { readonly place: string },
): Decision<"noted" | "notTaken", InstanceEvent> {
  if (state === null || state.frozenAt !== null) return decided("notTaken");
  const kept = following ? { following: true as const } : {};
  return decided("noted", { type: "InstanceCopied", data: { kind, place, ...kept, at: rfc3339(at) } });
}

/** Records that the log was restored here. A repeat with the same `copyId` gives no events. */
export function restoreInstance(
  state: InstanceState,
  { takenAt, at, ...facts }: Restoration & { readonly from: "import" | "backup" },
): Decision<"restored" | "notFound", InstanceEvent> {
  if (state === null) return decided("notFound");
  if (state.restored?.copyId === facts.copyId) return decided("restored");
  const data = { ...facts, takenAt: rfc3339(takenAt), at: rfc3339(at) };
  return decided("restored", { type: "InstanceRestored", data });
}

/** A log that was found to lack its newest events. */
interface LogLoss extends Pick<Restoration, "copyId" | "takenAt" | "at"> {
  /** Which incarnation of the log was found to lack them. */
  readonly incarnation: string;
}

/**
 * Records that the log has lost its newest events, which holds unfinished work as a restoration does. No events if
 * another instance was first: then the log is another incarnation. A frozen log sends nothing and accepts no events.
 */
export function loseEvents(
  state: InstanceState,
  { copyId, incarnation, takenAt, at }: LogLoss,
): Decision<"held" | "notHeld", InstanceEvent> {
  if (state === null || state.frozenAt !== null) return decided("notHeld");
  if (incarnationsOf(state).at(-1) !== incarnation) return decided("notHeld");
  const data = { copyId, from: "backup" as const, lost: true, sealed: false };
  const times = { takenAt: rfc3339(takenAt), at: rfc3339(at) };
  return decided("held", { type: "InstanceRestored", data: { ...data, ...times } });
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
