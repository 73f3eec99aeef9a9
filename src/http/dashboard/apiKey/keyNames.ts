import type { Dependencies } from "../../../commands/dependencies.ts";

/** The names of keys, by id; without those of ids that no key has. */
export async function keyNames(
  { apiKeys }: Pick<Dependencies, "apiKeys">,
  ids: readonly (string | null)[],
): Promise<ReadonlyMap<string, string>> {
  const named = ids
    .filter((id) => id !== null)
    .map(async (id) => [id, (await apiKeys.get(id))?.name] as const);
  return new Map((await Promise.all(named)).flatMap(([id, name]) => (name ? [[id, name] as const] : [])));
}
