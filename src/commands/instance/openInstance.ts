import { INSTANCE_STREAM } from "../../domain/instance/events.ts";
import { type Instance, incarnationsOf } from "../../domain/instance/state.ts";
import { isInOwnStream, SINGLE_STREAMS } from "../../domain/streamNames.ts";
import { invariant } from "../../kernel/assert.ts";
import { decrypt, encrypt } from "../../kernel/crypto/encryption.ts";
import { type InstanceKeys, instanceKeys, newDataKey } from "../../kernel/crypto/instanceKeys.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { decided } from "../../kernel/event/decider.ts";
import { newId } from "../../kernel/ids.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { type EpochMs, rfc3339 } from "../../kernel/time.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { instanceAggregate, logImportAggregate } from "../aggregateDefinitions.ts";
import { load, toNewEvents, transact } from "../transact.ts";
import { InstanceMismatchError } from "./instanceMismatchError.ts";

/** What an instance needs to prove that it belongs to its log. */
interface InstanceCredentials extends MasterKeys {
  /** Null if the content store is away and the log exists. */
  readonly contentStoreId: string | null;
}

/** The log is frozen here: it goes on where it was imported. The message gives the remedy. */
export class FrozenLogError extends Error {
  override readonly name = "FrozenLogError";
}

export interface OpenInstance {
  readonly logId: string;
  readonly keys: InstanceKeys;
  /** The newest format of the log's events. */
  readonly format: number;
  /** Identifies this incarnation of the log. One incarnation cannot use the read models of another. */
  readonly incarnation: string;
  /** All incarnations up to this one, the original first. */
  readonly incarnations: readonly [string, ...string[]];
  /** Null while the log is not frozen. */
  readonly frozenAt: EpochMs | null;
}

/**
 * Opens the log's instance, or begins it: of several racing first starts one append wins, and the others read it. The
 * log holds the data key, encrypted with the master key. All other keys and hashes derive from the data key, so rotating
 * the master key changes no hash and no stream name. Throws {@link InstanceMismatchError}.
 */
export async function openInstance(
  store: EventStore,
  claims: InstanceCredentials,
  context: CommandContext,
): Promise<OpenInstance> {
  await requireOwnStreams(store);
  await requireWhole(store);
  if ((await store.lastRevision(INSTANCE_STREAM)) === null) await begin(store, claims, context);
  const { state } = await load(store, instanceAggregate);
  invariant(state, "the instance stream begins with InstanceCreated");
  if (claims.contentStoreId !== null && state.contentStoreId !== claims.contentStoreId) {
    throw new InstanceMismatchError(
      "the content store is not the one that this log was begun with: set CONTENT_URL to that one (every instance of a log shares one)",
    );
  }
  const dataKey = await openDataKey(store, state, claims, context);
  const { logId, frozenAt, format } = state;
  const incarnations = incarnationsOf(state);
  const incarnation = incarnations.at(-1) ?? logId;
  return { logId, keys: instanceKeys(dataKey), format, incarnation, incarnations, frozenAt };
}

/** Refuses a store in which another application has taken a name that we need. */
async function requireOwnStreams(store: EventStore): Promise<void> {
  const begins = await Promise.all(SINGLE_STREAMS.map((stream) => store.read(stream, 0, 1)));
  const foreign = begins.flat().find((event) => event.revision === 0 && !isInOwnStream(event));
  if (foreign === undefined) return;
  throw new InstanceMismatchError(
    `the stream ${foreign.stream} begins with an event of another application (${JSON.stringify(foreign.type)}): give Postledger a server or cluster of its own`,
  );
}

/** Refuses a log whose import is not finished. */
async function requireWhole(store: EventStore): Promise<void> {
  const { state } = await load(store, logImportAggregate);
  if (state === null || state.isFinished) return;
  throw new InstanceMismatchError(
    `a log is being imported into this store, or its import was interrupted: run the same \`${POSTLEDGER} log import\` again`,
  );
}

/** Refuses to run a service on a log that goes on elsewhere. Throws {@link FrozenLogError}. */
export function requireNotFrozen({ frozenAt }: Pick<OpenInstance, "frozenAt">): void {
  if (frozenAt === null) return;
  throw new FrozenLogError(
    `the log was frozen at ${rfc3339(frozenAt)}: it goes on where it was imported; \`${POSTLEDGER} log unfreeze\` lets it go on here`,
  );
}

async function begin(
  store: EventStore,
  { masterKey, contentStoreId }: InstanceCredentials,
  context: CommandContext,
): Promise<void> {
  invariant(contentStoreId, "a new log has created its content store");
  const data = { logId: newId(), sealedDataKey: encrypt(masterKey, newDataKey()), contentStoreId };
  const events = toNewEvents([{ type: "InstanceCreated", data }], context);
  await store.append(INSTANCE_STREAM, events, "noStream");
}

/** The master key, and the previous one during a rotation. */
interface MasterKeys {
  readonly masterKey: Uint8Array;
  /** The key before a rotation; null without one. */
  readonly masterKeyPrevious: Uint8Array | null;
}

/**
 * Decrypts the log's data key. If only the previous master key opens it, rotates: records the same data key under the new
 * one, so nothing derived from it changes. Throws {@link InstanceMismatchError}.
 */
async function openDataKey(
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
      "MASTER_KEY is not the log's present key: set that one, which after a rotation is the new one, or set MASTER_KEY_PREVIOUS to it to rotate",
    );
  }
  const sealedDataKey = encrypt(masterKey, previous);
  const rotated = { type: "MasterKeyRotated" as const, data: { sealedDataKey } };
  await transact(store, instanceAggregate, () => decided(null, rotated), context);
  return previous;
}
