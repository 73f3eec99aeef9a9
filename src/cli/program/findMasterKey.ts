import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../../service/config/config.ts";
import { parseMasterKey } from "../../service/config/masterKeyConfig.ts";

/** The existing key that opens the log here, never a new one. Null if there is none. */
export async function findMasterKey({ masterKey, dataDir }: Config): Promise<Uint8Array | null> {
  if (masterKey !== null) return masterKey;
  const text = await readFile(join(dataDir, "master.key"), "utf8").catch(() => null);
  return text === null ? null : parseMasterKey(text);
}
