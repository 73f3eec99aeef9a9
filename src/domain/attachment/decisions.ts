import { type Decision, decided } from "../../kernel/event/decider.ts";
import type { ErasedEvents } from "../../kernel/event/erasedEventHashes.ts";
import { type EpochMs, rfc3339 } from "../../kernel/time.ts";
import type { AttachmentEvent } from "./events.ts";
import { type AttachmentState, isRejectedOrExpired } from "./state.ts";

/** The result of inspecting a file. */
export type CheckResult =
  | { readonly kind: "clean" }
  | { readonly kind: "rejected"; readonly code: string; readonly reason: string };

/** Records the check of a pending upload. Only the first check counts. */
export function settleCheck(
  state: AttachmentState,
  result: CheckResult,
): Decision<"settled" | "notPending", AttachmentEvent> {
  if (state?.status !== "pending") return decided("notPending");
  if (result.kind === "clean") return decided("settled", { type: "AttachmentValidated", data: {} });
  const { code, reason } = result;
  return decided("settled", { type: "AttachmentRejected", data: { code, reason } });
}

type DeleteOutcome = "deleted" | "alreadyExpired" | "notFound";

/** Deletes an upload before it expires. Messages accepted with it keep the bytes in their own folders. */
export function deleteUpload(state: AttachmentState): Decision<DeleteOutcome, AttachmentEvent> {
  if (state === null) return decided("notFound");
  if (state.status === "expired") return decided("alreadyExpired");
  return decided("deleted", { type: "AttachmentExpired", data: { reason: "deleted" } });
}

/** Expires an upload whose retention is over. */
export function expire(
  state: AttachmentState,
  now: EpochMs,
): Decision<"expired" | "notDue", AttachmentEvent> {
  if (state === null || state.status === "expired" || now < state.expiresAt) return decided("notDue");
  return decided("expired", { type: "AttachmentExpired", data: { reason: "retention" } });
}

/**
 * Erases the name of an upload whose bytes are gone, and everything else that earlier events say about it. `erased`: the
 * events to be truncated.
 */
export function eraseUpload(
  state: AttachmentState,
  erasureId: string,
  erased: ErasedEvents,
): Decision<"erased" | "notDue", AttachmentEvent> {
  if (state === null || !state.bytesRemoved || state.erasureId !== null) return decided("notDue");
  const { workspaceId, contentType, bytes } = state;
  const times = { uploadedAt: rfc3339(state.uploadedAt), expiresAt: rfc3339(state.expiresAt) };
  const data = { workspaceId, contentType, bytes, ...times, erasureId, erased: [...erased] };
  return decided("erased", { type: "AttachmentErased", data });
}

/** Records that the bytes are gone. Call it after removing them, so work that a crash left undone is found again. */
export function noteBytesRemoved(state: AttachmentState): Decision<"noted" | "notDue", AttachmentEvent> {
  if (state === null || !isRejectedOrExpired(state) || state.bytesRemoved) return decided("notDue");
  return decided("noted", { type: "AttachmentBytesRemoved", data: {} });
}
