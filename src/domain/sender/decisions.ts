import { type Decision, decided } from "../../kernel/event/decider.ts";
import { type EpochMs, rfc3339 } from "../../kernel/time.ts";
import type { SenderEvent, VerificationMethod } from "./events.ts";
import type { Beginning, SenderState } from "./state.ts";

/** How many addresses and domains callers may add to a workspace. Disabled ones count, because none is ever removed. */
export const SENDERS_MAX = 1_000;

/** A repeat gives no events: what was added first stays. */
export function addSender(
  state: SenderState,
  sender: Beginning,
): Decision<"added" | "alreadyAdded", SenderEvent> {
  if (state !== null) return decided("alreadyAdded");
  return decided("added", sender);
}

/** Changes a sender's display name; null removes it. A repeat gives no events. */
export function renameSender(
  state: SenderState,
  displayName: string | null,
): Decision<"renamed" | "unchanged" | "notFound", SenderEvent> {
  if (state === null) return decided("notFound");
  if (state.displayName === displayName) return decided("unchanged");
  const data = displayName === null ? {} : { displayName };
  return decided("renamed", { type: "SenderRenamed", data });
}

/** A repeat gives no events. */
export function verifySender(
  state: SenderState,
  method: VerificationMethod,
): Decision<"verified" | "notFound", SenderEvent> {
  if (state === null) return decided("notFound");
  if (state.verifiedBy !== null) return decided("verified");
  return decided("verified", { type: "SenderVerified", data: { method } });
}

/** Records whether the record that verified a domain is still there. Only a change gives events. */
export function noteRecord(
  state: SenderState,
  isThere: boolean,
  now: EpochMs,
): Decision<"missing" | "found" | "unchanged", SenderEvent> {
  const isAsked = state?.kind === "domain" && state.verifiedBy === "dns";
  if (!isAsked || isThere === (state.recordMissingSince === null)) return decided("unchanged");
  if (isThere) return decided("found", { type: "SenderRecordFound", data: {} });
  return decided("missing", { type: "SenderRecordMissing", data: { since: rfc3339(now) } });
}

/** Disables or enables a sender. Enabling does not verify it. A repeat gives no events. */
export function switchSender(
  state: SenderState,
  to: "disabled" | "enabled",
): Decision<"switched" | "notFound", SenderEvent> {
  if (state === null) return decided("notFound");
  if (state.disabled === (to === "disabled")) return decided("switched");
  return decided("switched", { type: to === "disabled" ? "SenderDisabled" : "SenderEnabled", data: {} });
}
