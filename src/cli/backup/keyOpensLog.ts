import { readFile } from "node:fs/promises";
import { decrypt } from "../../kernel/crypto/encryption.ts";
import { parseMasterKey } from "../../service/config/masterKeyConfig.ts";

/** Whether the master key in a file opens the log with this data key. Rejects if the file cannot be read. */
export async function keyOpensLog(file: string, sealedDataKey: string): Promise<boolean> {
  const key = parseMasterKey(await readFile(file, "utf8"));
  return key !== null && decrypt(key, sealedDataKey) !== null;
}
