import { emailId, replayOf, requestFingerprint } from "../../../domain/email/idempotency.ts";
import { newId } from "../../../kernel/ids.ts";
import { mailOwnerId } from "../../../kernel/mail/mailOwnerId.ts";
import { StoreError } from "../../../ports/eventStore.ts";
import type { Dependencies } from "../../dependencies.ts";
import { DiskFullError, hasDiskSpace } from "../../storage/diskFullError.ts";
import { directFilesOwner } from "../../storage/storageReservationQueue.ts";
import { acceptEmail } from "./acceptEmail.ts";
import { directBytes } from "./acceptedAttachments.ts";
import { prepareSend } from "./prepareSend.ts";
import { listedAcceptance, replayedSend } from "./replayedSend.ts";
import type { SendOutcome, SendRefusal } from "./sendOutcome.ts";
import { sharedOutcome, whenSendEnds } from "./singleFlightSends.ts";
import { isSimulated, ownerOf, type PreparedSend, refused, type ValidatedSend } from "./validatedSend.ts";

const STORAGE_EXCEEDED: SendRefusal = {
  ...refused("STORAGE_LIMIT_EXCEEDED"),
  detail:
    "the workspace's quota for temporary files (storage_bytes) cannot take the direct files; test mail has its own",
};

/** Stands in for a unit of the daily limit if the message does not count. */
const NO_UNIT = Symbol("no unit of the daily limit");

/**
 * Accepts one message: one append of its content and its acceptance, which must begin the stream that the
 * Idempotency-Key names. A second request reads what the first one wrote: the same request gets the same answer, a
 * different one a conflict. Throws `StoreError`; then no message is known to be accepted.
 */
export async function sendEmail(deps: Dependencies, send: ValidatedSend): Promise<SendOutcome> {
  const id = emailId(ownerOf(send), send.idempotencyKey);
  const fingerprint = requestFingerprint(deps.keys, send.workspaceId, send.request);
  const kept = deps.acceptances.get(id) ?? listedAcceptance(deps, id, fingerprint);
  if (kept !== undefined) return replayOf(id, kept, fingerprint);
  const request = { id, fingerprint, contentEventId: newId() };
  // Files are expensive to check and store, so we look for a replay first. Everything else is cheaper than that look.
  const known = send.attachments.length > 0 ? await replayedSend(deps, request) : null;
  if (known) return known;
  const prepared = await prepareSend(deps, send);
  // We look for a replay before a refusal, so the retry of an accepted send is never refused for what happened since.
  if (prepared.kind === "refused") {
    await whenSendEnds(deps.sends, id);
    return (await replayedSend(deps, request)) ?? prepared;
  }
  let other = deps.sends.get(id);
  while (other !== undefined) {
    const shared = await sharedOutcome(other, fingerprint);
    if (shared) return shared;
    other = deps.sends.get(id);
  }
  const outcome = acceptOrRefuse(deps, { ...send, ...request, ...prepared });
  deps.sends.set(id, { fingerprint, outcome });
  try {
    return await outcome;
  } finally {
    deps.sends.delete(id);
  }
}

async function acceptOrRefuse(deps: Dependencies, send: PreparedSend): Promise<SendOutcome> {
  if (!hasDiskSpace(deps)) {
    const replayed = await replayedSend(deps, send);
    if (replayed) return replayed;
    throw new DiskFullError();
  }
  const outcome = await withinLimits(deps, send);
  return outcome.kind === "refused" ? ((await replayedSend(deps, send)) ?? outcome) : outcome;
}

/** Reserves what the send needs from the limits (test mail has its own), and returns it unless it was accepted. */
async function withinLimits(deps: Dependencies, send: PreparedSend): Promise<SendOutcome> {
  const { workspaceId, context, id } = send;
  const accountId = mailOwnerId(ownerOf(send));
  const bytes = directBytes(send.resolved);
  const owner = directFilesOwner(id, send.contentEventId);
  if (bytes > 0 && !(await deps.storage.reserve(accountId, owner, bytes, context))) {
    return STORAGE_EXCEEDED;
  }
  let used = false;
  try {
    const unit = isSimulated(send) ? NO_UNIT : await deps.quota.take(workspaceId, id, context.at);
    if (unit === null) return refused("DAILY_LIMIT_REACHED");
    used = true;
    try {
      const outcome = await acceptEmail(deps, send);
      used = outcome.kind === "accepted" && !outcome.replayed;
      return outcome;
    } catch (error) {
      // An outage must not use up the daily limit. If the outcome is unknown, the message may be there, so it counts.
      used = !(error instanceof StoreError) || error.failure === "outcomeUnknown";
      throw error;
    } finally {
      if (!used && unit !== NO_UNIT) await deps.quota.returnUnit(workspaceId, unit);
    }
  } finally {
    // If the outcome is unknown, the reservation stays until the stale ones are settled.
    if (!used && bytes > 0) await deps.storage.release(accountId, owner, context);
  }
}
