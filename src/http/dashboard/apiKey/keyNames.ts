import type { Dependencies } from "../../../commands/dependencies.ts";

/** The names of keys, by id; without those of ids that no key has. */
export async function keyNames(
  { apiKeys }: Pick<Dependencies, "apiKeys">,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const named = await Promise.all(ids.map(async (id) => [id, (await apiKeys.get(id))?.name] as const));
  return new Map(named.flatMap(([id, name]) => (name ? [[id, name] as const] : [])));
}
