import { type Decision, decided } from "../../kernel/event/decider.ts";
import type { ErasedEvents } from "../../kernel/event/erasedEventHashes.ts";
import { type EpochMs, rfc3339 } from "../../kernel/time.ts";
import type { AttachmentEvent } from "./events.ts";
import { type AttachmentState, isRejectedOrExpired } from "./state.ts";

/** What a look into the file has shown. */
export type CheckResult =
  | { readonly kind: "clean" }
  | { readonly kind: "rejected"; readonly code: string; readonly reason: string };

/** Ends the wait of a pending upload. Whoever looked second has nothing to add. */
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

/** Deletes an upload before it expires. Messages that were accepted with it have bytes of their own. */
export function deleteUpload(state: AttachmentState): Decision<DeleteOutcome, AttachmentEvent> {
  if (state === null) return decided("notFound");
  if (state.status === "expired") return decided("alreadyExpired");
  return decided("deleted", { type: "AttachmentExpired", data: { reason: "deleted" } });
}

/** Expires an upload whose time is over. */
export function expire(
  state: AttachmentState,
  now: EpochMs,
): Decision<"expired" | "notDue", AttachmentEvent> {
  if (state === null || state.status === "expired" || now < state.expiresAt) return decided("notDue");
  return decided("expired", { type: "AttachmentExpired", data: { reason: "retention" } });
}

/**
 * Releases the name of an upload whose bytes are gone, and all else that earlier events say of it. `erased` are the
 * events that are cut off then.
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

/** Notes that the bytes are gone. Comes after their removal, so that what a crash left undone is seen. */
export function noteBytesRemoved(state: AttachmentState): Decision<"noted" | "notDue", AttachmentEvent> {
  if (state === null || !isRejectedOrExpired(state) || state.bytesRemoved) return decided("notDue");
  return decided("noted", { type: "AttachmentBytesRemoved", data: {} });
}
