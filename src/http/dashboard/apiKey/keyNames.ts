import type { Dependencies } from "../../../commands/dependencies.ts";
import { keyNameWithPerson } from "../../../domain/apiKey/person.ts";

/** The names of keys, with their persons, by id; without those of ids that no key has. */
export async function keyNames(
  { apiKeys }: Pick<Dependencies, "apiKeys">,
  ids: readonly (string | null)[],
): Promise<ReadonlyMap<string, string>> {
  const named = ids.filter((id) => id !== null).map(async (id) => [id, await apiKeys.get(id)] as const);
  return new Map(
    (await Promise.all(named)).flatMap(([id, key]) => (key ? [[id, keyNameWithPerson(key)] as const] : [])),
  );
}
