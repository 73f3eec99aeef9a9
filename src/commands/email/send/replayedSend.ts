import { ACCEPTANCE_REVISION, emailCodec, emailStream } from "../../../domain/email/events.ts";
import { type Replay, replayOf } from "../../../domain/email/idempotency.ts";
import { type Email, emailDecider } from "../../../domain/email/state.ts";
import type { Dependencies } from "../../dependencies.ts";
import type { Acceptance } from "./replayCache.ts";
import type { SendIdentity } from "./validatedSend.ts";

/**
 * The acceptance of an earlier request with this key and content, if the read model lists it: that spares a failed append
 * to a server. Different content never matches, so only the log decides on a conflict.
 */
export function listedAcceptance(
  deps: Dependencies,
  id: string,
  fingerprint: string,
): Acceptance | undefined {
  const listed = deps.acceptanceList.find(id, fingerprint);
  if (listed === null) return undefined;
  const acceptance = { fingerprint, ...listed };
  deps.acceptances.set(id, acceptance);
  return acceptance;
}

/**
 * The answer to an earlier request with this key; null if there was none. Flushes first, because that request's append
 * may still be waiting for the disk, and only a durable message counts as accepted. Throws `StoreError`.
 */
export async function replayedSend(
  deps: Dependencies,
  request: Pick<SendIdentity, "id" | "fingerprint">,
): Promise<Replay | null> {
  const email = await readAcceptance(deps, request.id);
  if (email === null) return null;
  await deps.store.flush();
  return replayOfAcceptance(deps, request, email);
}

/** The answer to the request that won against this one's append. It is on disk; null if it cannot be read. */
export async function winnersReplay(
  deps: Dependencies,
  request: Pick<SendIdentity, "id" | "fingerprint">,
): Promise<Replay | null> {
  const email = await readAcceptance(deps, request.id);
  return email === null ? null : replayOfAcceptance(deps, request, email);
}

function replayOfAcceptance(
  deps: Dependencies,
  { id, fingerprint }: Pick<SendIdentity, "id" | "fingerprint">,
  email: Email,
): Replay {
  const { acceptedAs, acceptedAt } = email;
  deps.acceptances.set(id, { fingerprint: email.fingerprint, acceptedAs, acceptedAt });
  return replayOf(id, email, fingerprint);
}

async function readAcceptance(deps: Dependencies, id: string): Promise<Email | null> {
  const [event] = await deps.store.read(emailStream(id), ACCEPTANCE_REVISION, 1);
  return event === undefined ? null : emailDecider.evolve(null, emailCodec.decode(event));
}
