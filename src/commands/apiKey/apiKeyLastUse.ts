import { apiKeyUseCodec, apiKeyUseStream } from "../../domain/apiKeyUse/events.ts";
import { newRequestId } from "../../kernel/ids.ts";
import { type EpochMs, HOUR_MS, rfc3339 } from "../../kernel/time.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { toNewEvents } from "../transact.ts";

/** Keys whose last hour is remembered; of others it is read again from the log. */
const KEYS_MAX = 10_000;

/** When keys were last used, to the hour: noted in memory, and written beside the requests. */
export interface ApiKeyLastUse {
  /** Costs a request one look at a map. */
  note(keyId: string, now: EpochMs): void;
  /** The beginning of the hour in which this instance has last seen the key; null when it has not. */
  lastSeen(keyId: string): EpochMs | null;
  /** Writes what was noted since: one event for a key and hour, whatever the number of instances. Throws `StoreError`. */
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
    // Whoever was first has written the same.
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
