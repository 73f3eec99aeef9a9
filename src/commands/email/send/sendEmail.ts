import { emailId, replayOf, requestFingerprint } from "../../../domain/email/idempotency.ts";
import { newId } from "../../../kernel/ids.ts";
import type { Dependencies } from "../../dependencies.ts";
import { DiskFullError, hasDiskSpace } from "../../storage/diskFullError.ts";
import { prepareSend } from "./prepareSend.ts";
import { listedAcceptance, replayedSend } from "./replayedSend.ts";
import { acceptReserved, reserveLimits } from "./sendLimits.ts";
import type { SendOutcome } from "./sendOutcome.ts";
import { sharedOutcome, whenSendEnds } from "./singleFlightSends.ts";
import { ownerOf, type PreparedSend, type ValidatedSend } from "./validatedSend.ts";

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
  const reserved = await reserveLimits(deps, send);
  const outcome = reserved.kind === "refused" ? reserved : await acceptReserved(deps, send, reserved);
  return outcome.kind === "refused" ? ((await replayedSend(deps, send)) ?? outcome) : outcome;
}
