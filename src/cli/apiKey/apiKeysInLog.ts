import { apiKeyCodec } from "../../domain/apiKey/events.ts";
import { type ApiKey, type ApiKeyState, apiKeyDecider } from "../../domain/apiKey/state.ts";
import { type EventStore, LOG_START } from "../../ports/eventStore.ts";

/** Every key of the log by id, folded while the log is read once. */
export async function apiKeysInLog(store: EventStore): Promise<ReadonlyMap<string, ApiKey>> {
  const keys = new Map<string, ApiKeyState>();
  for await (const { events } of store.readAll(LOG_START, { types: apiKeyCodec.types })) {
    for (const recorded of events) {
      const id = recorded.stream.slice("apikey-".length);
      keys.set(id, apiKeyDecider.evolve(keys.get(id) ?? null, apiKeyCodec.decode(recorded)));
    }
  }
  return new Map([...keys].flatMap(([id, key]) => (key === null ? [] : [[id, key] as const])));
}

/** The keys that a key has issued or was rotated to, and that those have, as far as they are not revoked. */
export function apiKeysBelow(keys: ReadonlyMap<string, ApiKey>, id: string): readonly string[] {
  const below = new Set([id]);
  const isBelow = ({ issuerId, rotatedFrom }: ApiKey) =>
    below.has(issuerId ?? "") || below.has(rotatedFrom ?? "");
  // A key comes after the one that it stems from, in the log and so in the map.
  for (const [one, key] of keys) if (isBelow(key)) below.add(one);
  return [...below].filter((one) => one !== id && keys.get(one)?.revoked === false);
}
