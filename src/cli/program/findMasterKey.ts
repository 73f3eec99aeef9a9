import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../../service/config/config.ts";
import { parseMasterKey } from "../../service/config/masterKeyConfig.ts";

/** The key that is to open the log here: never a new one. Null where there is none. */
export async function findMasterKey({ masterKey, dataDir }: Config): Promise<Uint8Array | null> {
  if (masterKey !== null) return masterKey;
  const text = await readFile(join(dataDir, "master.key"), "utf8").catch(() => null);
  return text === null ? null : parseMasterKey(text);
}
