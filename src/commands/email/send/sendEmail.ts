import { emailId, replayOf, requestFingerprint } from "../../../domain/email/idempotency.ts";
import { newId } from "../../../kernel/ids.ts";
import type { Dependencies } from "../../dependencies.ts";
import { DiskFullError, hasDiskSpace } from "../../storage/diskFullError.ts";
import { prepareSend } from "./prepareSend.ts";
import { replayFromLog } from "./replayFromLog.ts";
import { acceptReserved, reserveQuotas } from "./reserveQuotas.ts";
import type { SendOutcome } from "./sendOutcome.ts";
import { sharedOutcome, whenSendEnds } from "./sendsInFlight.ts";
import { ownerOf, type PreparedSend, type ValidatedSend } from "./validatedSend.ts";

/**
 * Accepts one message: one append of its content and its acceptance, which must begin the stream that the
 * Idempotency-Key names. A second request reads what the first one wrote: the same request gets the same answer, a
 * different one a conflict. Throws `StoreError`; then no message is known to be accepted.
 */
export async function sendEmail(deps: Dependencies, send: ValidatedSend): Promise<SendOutcome> {
  const id = emailId(ownerOf(send), send.idempotencyKey);
  const fingerprint = requestFingerprint(deps.keys, send.workspaceId, send.comparable);
  const known = deps.acceptances.find(id, fingerprint);
  if (known) return replayOf(id, known, fingerprint);
  const identity = { id, fingerprint, contentEventId: newId() };
  // Files are expensive to check and store, so we look for a replay first. Everything else is cheaper than that look.
  const replay = send.attachments.length > 0 ? await replayFromLog(deps, identity) : null;
  if (replay) return replay;
  const prepared = await prepareSend(deps, send);
  // We look for a replay before a refusal, so the retry of an accepted send is never refused for what happened since.
  if (prepared.kind === "refused") {
    await whenSendEnds(deps.sendsInFlight, id);
    return (await replayFromLog(deps, identity)) ?? prepared;
  }
  let other = deps.sendsInFlight.get(id);
  while (other !== undefined) {
    const shared = await sharedOutcome(other, fingerprint);
    if (shared) return shared;
    other = deps.sendsInFlight.get(id);
  }
  const outcome = acceptOrRefuse(deps, { ...send, ...identity, ...prepared });
  deps.sendsInFlight.set(id, { fingerprint, outcome });
  try {
    return await outcome;
  } finally {
    deps.sendsInFlight.delete(id);
  }
}

async function acceptOrRefuse(deps: Dependencies, send: PreparedSend): Promise<SendOutcome> {
  if (!hasDiskSpace(deps)) {
    const replay = await replayFromLog(deps, send);
    if (replay) return replay;
    throw new DiskFullError();
  }
  const reserved = await reserveQuotas(deps, send);
  const outcome = reserved.kind === "refused" ? reserved : await acceptReserved(deps, send, reserved);
  return outcome.kind === "refused" ? ((await replayFromLog(deps, send)) ?? outcome) : outcome;
}
