import type { Instance } from "../../domain/instance/state.ts";
import { decrypt, encrypt } from "../../kernel/crypto/encryption.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { instanceAggregate } from "../aggregateDefinitions.ts";
import { transact } from "../transact.ts";
import { InstanceMismatchError } from "./instanceMismatchError.ts";

/** The master key, and the one before it while a rotation is under way. */
export interface MasterKeys {
  readonly masterKey: Uint8Array;
  /** The key before a rotation; null when there was none. */
  readonly masterKeyPrevious: Uint8Array | null;
}

/**
 * Decrypts the data key of the log. Where only the previous master key opens it, rotates: records the same data key
 * under the new one, so nothing that is derived from it changes. Throws {@link InstanceMismatchError}.
 */
export async function openDataKey(
  store: EventStore,
  { sealedDataKey: recorded }: Instance,
  { masterKey, masterKeyPrevious }: MasterKeys,
  context: CommandContext,
): Promise<Uint8Array> {
  const dataKey = decrypt(masterKey, recorded);
  if (dataKey !== null) return dataKey;
  const previous = masterKeyPrevious && decrypt(masterKeyPrevious, recorded);
  if (!previous) {
    throw new InstanceMismatchError(
      "MASTER_KEY is not the one that this log was begun with: set the right one, or set MASTER_KEY_PREVIOUS to it to rotate",
    );
  }
  const sealedDataKey = encrypt(masterKey, previous);
  await transact(
    store,
    instanceAggregate,
    () => ({ outcome: null, events: [{ type: "MasterKeyRotated" as const, data: { sealedDataKey } }] }),
    context,
  );
  return previous;
}
