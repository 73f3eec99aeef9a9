import { emailId, replayOf, requestFingerprint } from "../../../domain/email/idempotency.ts";
import { newId } from "../../../kernel/ids.ts";
import { StoreError } from "../../../ports/eventStore.ts";
import type { Dependencies } from "../../dependencies.ts";
import { DiskFullError, hasDiskSpace } from "../../storage/diskFullError.ts";
import { directFilesOwner } from "../../storage/reservationOwner.ts";
import { acceptEmail } from "./acceptEmail.ts";
import { directBytes } from "./acceptedAttachments.ts";
import { prepareSend } from "./prepareSend.ts";
import { listedAcceptance, replayedSend } from "./replayedSend.ts";
import { isSimulated, ownerOf, type PreparedSend, refused, type SendCommand } from "./sendCommand.ts";
import type { SendOutcome, SendRefusal } from "./sendOutcome.ts";
import { sharedOutcome, whenSendEnds } from "./singleFlightSends.ts";

const STORAGE_EXCEEDED: SendRefusal = {
  ...refused("STORAGE_LIMIT_EXCEEDED"),
  detail: "the workspace's quota for temporary files (storage_bytes) cannot take the direct files",
};

/** Instead of a unit of the daily limit, for what does not count. */
const NO_UNIT = Symbol("no unit of the daily limit");

/**
 * Accepts one message: one append of its content and its acceptance, expected to begin the stream that the
 * Idempotency-Key names. The second one reads what the first one wrote: the same request gets the same
 * answer, another one a conflict. Throws `StoreError`; then nothing is known to be accepted.
 */
export async function sendEmail(deps: Dependencies, send: SendCommand): Promise<SendOutcome> {
  const id = emailId(ownerOf(send), send.idempotencyKey);
  const fingerprint = requestFingerprint(deps.keys, send.workspaceId, send.request);
  const kept = deps.acceptances.get(id) ?? listedAcceptance(deps, id, fingerprint);
  if (kept !== undefined) return replayOf(id, kept, fingerprint);
  const request = { id, fingerprint, contentEventId: newId() };
  // Files are dear to check and to store, so a retry is looked for before them; all else is cheaper than a look.
  const known = send.attachments.length > 0 ? await replayedSend(deps, request) : null;
  if (known) return known;
  const prepared = await prepareSend(deps, send);
  // We look for a replay before a refusal, so a retry of what was accepted is never refused by what happened since.
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

/** Reserves what the limits allow, and returns it unless the message was accepted. Test mail reserves nothing. */
async function withinLimits(deps: Dependencies, send: PreparedSend): Promise<SendOutcome> {
  const { workspaceId, context, id } = send;
  const bytes = context.isTest === true ? 0 : directBytes(send.resolved);
  const owner = directFilesOwner(id, send.contentEventId);
  if (bytes > 0 && !(await deps.storage.reserve(workspaceId, owner, bytes, context))) {
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
      // An outage must not eat up the day. Where the outcome is unknown the message may be there: it counts.
      used = !(error instanceof StoreError) || error.failure === "outcomeUnknown";
      throw error;
    } finally {
      if (!used && unit !== NO_UNIT) await deps.quota.returnUnit(workspaceId, unit);
    }
  } finally {
    // Where the outcome is unknown the reservation stays until stale ones are settled.
    if (!used && bytes > 0) await deps.storage.release(workspaceId, owner, context);
  }
}
