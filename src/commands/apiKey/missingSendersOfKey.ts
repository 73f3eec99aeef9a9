import type { Dependencies } from "../dependencies.ts";

/**
 * Those of these addresses and domains, in canonical form, that the workspace lacks, by themselves and by a domain. They
 * may be added later, so it is no error to bind a key to them.
 */
export async function missingSendersOfKey(
  { keys, senders }: Pick<Dependencies, "keys" | "senders">,
  workspaceId: string,
  names: readonly string[],
): Promise<readonly string[]> {
  const isAdded = async (name: string) => (await senders.get(keys.hashAddress(workspaceId, name))) !== null;
  const missing: string[] = [];
  for (const name of names) {
    const isAddress = name.includes("@");
    const domain = isAddress ? name.slice(name.lastIndexOf("@")) : `@${name}`;
    if (!((isAddress && (await isAdded(name))) || (await isAdded(domain)))) missing.push(name);
  }
  return missing;
}
