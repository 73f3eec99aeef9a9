import { emailId, requestFingerprint } from "../../../domain/email/idempotency.ts";
import { newId } from "../../../kernel/ids.ts";
import { requireStoreError, StoreError } from "../../../ports/eventStore.ts";
import type { Dependencies } from "../../dependencies.ts";
import { DiskFullError, hasDiskSpace } from "../../storage/diskFullError.ts";
import { namedContent, prepareSend } from "./prepareSend.ts";
import { replayFromLog } from "./replayFromLog.ts";
import { acceptReserved, type ReservedQuotas, reserveQuotas, returnQuotas } from "./reserveQuotas.ts";
import type { SendOutcome, SendRefusal } from "./sendOutcome.ts";
import { ownerOf, type PreparedSend, type SendIdentity, type ValidatedSend } from "./validatedSend.ts";

/** The ids of the messages, in the order of the sends; or why none was accepted. */
export type SendToAllOutcome =
  | { readonly kind: "accepted"; readonly ids: readonly string[] }
  | Exclude<SendOutcome, { kind: "accepted" }>;

/** Only some of the messages are known to be accepted. The same sends, repeated, accept the others. */
export class PartlyAcceptedError extends Error {
  override readonly name = "PartlyAcceptedError";
  constructor(
    readonly accepted: number,
    readonly all: number,
    cause: unknown,
  ) {
    super(`only ${accepted} of ${all} recipients were accepted`, { cause });
  }
}

/** A send that holds what it needs of the limits. */
interface ReservedSend {
  readonly send: PreparedSend;
  readonly reserved: ReservedQuotas;
}

/**
 * Accepts the same mail for several recipients: its sends differ in nothing else, and have no template. Whatever can be
 * refused is decided for all of them before the first is accepted, so a refusal means that this request accepted none.
 * Throws `StoreError`, or `PartlyAcceptedError` if some of them have a message by then.
 */
export async function sendToAll(
  deps: Dependencies,
  sends: readonly ValidatedSend[],
): Promise<SendToAllOutcome> {
  const all = sends.map((send) => ({ ...send, ...identityOf(deps, send) }));
  const replays = await Promise.all(all.map((send) => replayFromLog(deps, send)));
  const conflict = replays.find((replay) => replay?.kind === "conflict");
  if (conflict?.kind === "conflict") return conflict;
  const prepared = await prepareAll(
    deps,
    all.filter((_, index) => replays[index] === null),
  );
  if ("kind" in prepared) return prepared;
  const reserved = await reserveAll(deps, prepared);
  if ("kind" in reserved) return reserved;
  await acceptAll(deps, reserved, all.length);
  return { kind: "accepted", ids: all.map(({ id }) => id) };
}

function identityOf(deps: Dependencies, send: ValidatedSend): SendIdentity {
  return {
    id: emailId(ownerOf(send), send.idempotencyKey),
    fingerprint: requestFingerprint(deps.keys, send.workspaceId, send.comparable),
    contentEventId: newId(),
  };
}

/** Prepares the mail once: who sends it, its files and its workspace are the same for every recipient. */
async function prepareAll(
  deps: Dependencies,
  sends: readonly (ValidatedSend & SendIdentity)[],
): Promise<readonly PreparedSend[] | SendRefusal> {
  const [first] = sends;
  if (first === undefined) return [];
  const prepared = await prepareSend(deps, first);
  if (prepared.kind === "refused") return prepared;
  if (!hasDiskSpace(deps)) throw new DiskFullError();
  return sends.map((send) => ({
    ...send,
    ...prepared,
    content: namedContent(prepared.sender, send.content),
  }));
}

async function reserveAll(
  deps: Dependencies,
  sends: readonly PreparedSend[],
): Promise<readonly ReservedSend[] | SendRefusal> {
  const held: ReservedSend[] = [];
  let isComplete = false;
  try {
    for (const send of sends) {
      const reserved = await reserveQuotas(deps, send);
      if (reserved.kind === "refused") return reserved;
      held.push({ send, reserved });
    }
    isComplete = true;
    return held;
  } finally {
    if (!isComplete) await returnAll(deps, held);
  }
}

/** Throws if one of `sends` is not accepted, and returns what the others after it hold. `all`: with the replays. */
async function acceptAll(deps: Dependencies, sends: readonly ReservedSend[], all: number): Promise<void> {
  let accepted = 0;
  try {
    for (const { send, reserved } of sends) {
      const outcome = await acceptReserved(deps, send, reserved);
      if (outcome.kind !== "accepted")
        throw new StoreError("unavailable", "another request used the key at the same moment");
      accepted += 1;
    }
  } catch (error) {
    await returnAll(deps, sends.slice(accepted + 1));
    const known = all - sends.length + accepted;
    throw known === 0 ? error : new PartlyAcceptedError(known, all, error);
  }
}

/** Returns all it can while the store is away: the rest of the room for files is settled with the stale reservations. */
async function returnAll(deps: Dependencies, sends: readonly ReservedSend[]): Promise<void> {
  await Promise.all(
    sends.map(({ send, reserved }) => returnQuotas(deps, send, reserved).catch(requireStoreError)),
  );
}
