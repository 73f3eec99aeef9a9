import { ACCEPTANCE_REVISION, emailCodec, emailStream } from "../../../domain/email/events.ts";
import { type Replay, replayOf } from "../../../domain/email/idempotency.ts";
import { emailDecider } from "../../../domain/email/state.ts";
import type { Dependencies } from "../../dependencies.ts";
import type { SendIdentity } from "./validatedSend.ts";

/**
 * The answer to the request that used this key first, from its message in the log; null if there is none. Only a durable
 * message counts as accepted, so this waits until that request's append is on the disk. `isDurable`: an append has lost
 * to it, which proves that it is. Throws `StoreError`.
 */
export async function replayFromLog(
  deps: Dependencies,
  { id, fingerprint }: Pick<SendIdentity, "id" | "fingerprint">,
  { isDurable = false }: { readonly isDurable?: boolean } = {},
): Promise<Replay | null> {
  const [event] = await deps.store.read(emailStream(id), ACCEPTANCE_REVISION, 1);
  const email = event === undefined ? null : emailDecider.evolve(null, emailCodec.decode(event));
  if (email === null) return null;
  if (!isDurable) await deps.store.flush();
  const { acceptedAs, acceptedAt } = email;
  deps.acceptances.remember(id, { fingerprint: email.fingerprint, acceptedAs, acceptedAt });
  return replayOf(id, email, fingerprint);
}
