import { apiKeyUseCodec, apiKeyUseStream } from "../../domain/apiKeyUse/events.ts";
import { newRequestId } from "../../kernel/ids.ts";
import { type EpochMs, epochMs, HOUR_MS, rfc3339 } from "../../kernel/time.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { toNewEvents } from "../transact.ts";

/** How many keys' last hours are remembered. For other keys the log is read again. */
const KEYS_MAX = 10_000;

/** When keys were last used, to the hour. Requests note it in memory; a worker writes it later. */
export interface ApiKeyLastUse {
  /** Costs a request one look-up in a map. */
  note(keyId: string, now: EpochMs): void;
  /** The start of the hour in which this instance last saw the key; null if it never did. */
  lastSeen(keyId: string): EpochMs | null;
  /**
   * Writes what was noted since: one event per key and hour, however many instances there are. Begins no further one once
   * `stopping` aborts; what is left is written by the next call. Throws `StoreError`.
   */
  write(actor: string, stopping?: AbortSignal): Promise<void>;
}

/** A key's last use in the log. */
interface RecordedUse {
  /** The revision of its event, which the next one follows. */
  readonly revision: number;
  /** The start of the hour. */
  readonly at: EpochMs;
}

/** When the log last has a key in use; null: never. Throws `StoreError`. */
export async function readApiKeyLastUse(store: EventStore, keyId: string): Promise<RecordedUse | null> {
  const stream = apiKeyUseStream(keyId);
  const revision = await store.lastRevision(stream);
  const [last] = revision === null ? [] : await store.read(stream, revision, 1);
  return last === undefined
    ? null
    : { revision: last.revision, at: epochMs(apiKeyUseCodec.decode(last).data.hour) };
}

export function apiKeyLastUse(store: EventStore): ApiKeyLastUse {
  const hours = new Map<string, number>();
  const unwritten = new Map<string, number>();

  const writeOne = async (keyId: string, hour: number, actor: string): Promise<void> => {
    const at = hour * HOUR_MS;
    const last = await readApiKeyLastUse(store, keyId);
    if (last !== null && last.at >= at) return;
    const event = { type: "ApiKeyUsed" as const, data: { keyId, hour: rfc3339(at) } };
    const context = { at, correlationId: newRequestId(), actor };
    // If the append loses, another instance has written the same event.
    await store.append(apiKeyUseStream(keyId), toNewEvents([event], context), last?.revision ?? "noStream");
  };

  return {
    note(keyId, now) {
      const hour = Math.floor(now / HOUR_MS);
      if (hours.get(keyId) === hour) return;
      if (hours.size >= KEYS_MAX) hours.clear();
      hours.set(keyId, hour);
      unwritten.set(keyId, hour);
    },
    lastSeen(keyId) {
      const hour = hours.get(keyId);
      return hour === undefined ? null : hour * HOUR_MS;
    },
    async write(actor, stopping) {
      for (const [keyId, hour] of unwritten) {
        if (stopping?.aborted) return;
        await writeOne(keyId, hour, actor);
        if (unwritten.get(keyId) === hour) unwritten.delete(keyId);
      }
    },
  };
}
