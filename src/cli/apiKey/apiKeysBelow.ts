import type { ApiKey } from "../../domain/apiKey/state.ts";

/** The keys that a key has issued or was rotated to, and that those have, as far as they are not revoked. */
export function apiKeysBelow(keys: ReadonlyMap<string, ApiKey>, id: string): readonly string[] {
  const below = new Set([id]);
  const isBelow = ({ issuerId, rotatedFrom }: ApiKey) =>
    below.has(issuerId ?? "") || below.has(rotatedFrom ?? "");
  // A key comes after the one that it stems from, in the log and so in the map.
  for (const [one, key] of keys) if (isBelow(key)) below.add(one);
  return [...below].filter((one) => one !== id && keys.get(one)?.revoked === false);
}
