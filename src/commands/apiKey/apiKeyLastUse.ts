import { apiKeyUseCodec, apiKeyUseStream } from "../../domain/apiKeyUse/events.ts";
import { newRequestId } from "../../kernel/ids.ts";
import { type EpochMs, HOUR_MS, rfc3339 } from "../../kernel/time.ts";
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
  /** Writes what was noted since: one event per key and hour, however many instances there are. Throws `StoreError`. */
  write(actor: string): Promise<void>;
}

export function apiKeyLastUse(store: EventStore): ApiKeyLastUse {
  const hours = new Map<string, number>();
  const unwritten = new Map<string, number>();

  const writeOne = async (keyId: string, hour: number, actor: string): Promise<void> => {
    const stream = apiKeyUseStream(keyId);
    const at = hour * HOUR_MS;
    const revision = await store.lastRevision(stream);
    const [last] = revision === null ? [] : await store.read(stream, revision, 1);
    if (last !== undefined && Date.parse(apiKeyUseCodec.decode(last).data.hour) >= at) return;
    const event = { type: "ApiKeyUsed" as const, data: { keyId, hour: rfc3339(at) } };
    const context = { at, correlationId: newRequestId(), actor };
    // If the append loses, another instance has written the same event.
    await store.append(stream, toNewEvents([event], context), revision ?? "noStream");
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
    async write(actor) {
      for (const [keyId, hour] of unwritten) {
        await writeOne(keyId, hour, actor);
        if (unwritten.get(keyId) === hour) unwritten.delete(keyId);
      }
    },
  };
}
