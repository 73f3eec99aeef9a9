import { mkdirSync } from "node:fs";
import { readLines } from "../../adapters/durableFiles/compressedLineFile.ts";
import {
  type ExportEnd,
  ExportError,
  type ExportHeader,
  parseHeader,
} from "../../commands/log/exportFormat.ts";
import { checkExport, type Imported, importLog } from "../../commands/log/importLog.ts";
import { decrypt } from "../../kernel/crypto/encryption.ts";
import { FOLDER_MODE } from "../../kernel/fileModes.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { counted } from "../../kernel/text/readableNumbers.ts";
import { openContentStore } from "../../service/adapters/openContentStore.ts";
import { isEmbedded, openStore } from "../../service/adapters/openStore.ts";
import type { Config } from "../../service/config/config.ts";
import { lockDataDirectory, requireDataDirectoryLock } from "../../service/dataDirectoryLock.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { progressBar } from "../output/progressBar.ts";
import { type Command, refuse } from "../program/command.ts";
import { findMasterKey } from "../program/findMasterKey.ts";

/** What would keep a service from using the imported log, checked before hours of copying; null if nothing. */
async function importObstacle(config: Config, header: ExportHeader): Promise<string | null> {
  const key = await findMasterKey(config);
  if (key === null) return "MASTER_KEY is not set: set the log's, or put its master.key into DATA_DIR";
  if (decrypt(key, header.sealedDataKey) === null) return "MASTER_KEY does not belong to the exported log";
  const content = openContentStore(config);
  const isItsOwn =
    (await content.claimedBy()) === header.logId && (await content.identity()) === header.contentStoreId;
  if (isItsOwn) return null;
  return "CONTENT_URL is not the log's content store: set it to that store, or to a copy (`log export --content <dir>`)";
}

async function runImport(
  config: Config,
  file: string,
  { header, end }: { readonly header: ExportHeader; readonly end: ExportEnd },
): Promise<Imported> {
  const store = await openStore(config, { inOrder: true });
  const bar = progressBar("importing");
  try {
    return await importLog({
      ...{ store, header, end, context: systemCommandContext("cli") },
      lines: () => readLines(file),
      onProgress: (phase, events) => bar.show(events / Math.max(1, end.events), `${phase}: ${events} events`),
    });
  } finally {
    bar.end();
    await store.close();
  }
}

function sealLine(unsealed: number | null): string {
  const verify = `\`${POSTLEDGER} audit verify\``;
  if (unsealed === null) return `its seals cannot be read: ${verify} says what is wrong`;
  if (unsealed === 0) return `a seal covers every event: ${verify} compares them`;
  const rest = `no seal covers ${counted(unsealed, "event")}: nothing shows whether the export was changed there`;
  return `${rest}; ${verify} compares the others`;
}

function linesOf({ events, missing, found, unsealed }: Imported): readonly string[] {
  return [
    `${events} events imported, read back and compared${found > 0 ? `; ${found} were there from a run before` : ""}`,
    ...(missing > 0 ? [`${missing} revisions are missing as in the exported log: erased or cut off`] : []),
    sealLine(unsealed),
    `start the service; unfinished work is held until \`${POSTLEDGER} delivery resume\``,
  ];
}

/** Checks the first line before anything is created. */
async function requireExport(file: string): Promise<void> {
  for await (const [first] of readLines(file)) {
    parseHeader(first);
    return;
  }
  throw new ExportError("the export is empty or cut short");
}

/** Imports into the store of DATA_DIR or STORE_URL, with exclusive use of it. */
async function importAlone(config: Config, file: string): Promise<Imported & { readonly logId: string }> {
  mkdirSync(config.dataDir, { recursive: true, mode: FOLDER_MODE });
  const lock = isEmbedded(config) ? requireDataDirectoryLock : lockDataDirectory;
  using _lock = lock(config.dataDir);
  const checked = await checkExport(() => readLines(file));
  const trouble = await importObstacle(config, checked.header);
  if (trouble !== null) refuse(trouble);
  return { ...(await runImport(config, file, checked)), logId: checked.header.logId };
}

export const logImport: Command = {
  name: "log import",
  operands: [{ name: "file", help: "file that `log export` wrote" }],
  summary: "Bring an exported log into the empty store of STORE_URL",
  description: `Set MASTER_KEY and CONTENT_URL to those of the log. If it is interrupted, run the same command again. What was still open when the export was written is held until \`${POSTLEDGER} delivery resume\`.`,
  dataDirectory: "made",
  examples: [
    "postledger log import log.zst # Into the embedded store of DATA_DIR",
    "STORE_URL=esdb://a:2113 MASTER_KEY=… postledger log import log.zst",
  ],
  async run(invocation) {
    const file = invocation.operand("file");
    try {
      await requireExport(file);
      const imported = await importAlone(invocation.config, file);
      const { logId, ...told } = imported;
      invocation.print({ log_id: logId, ...told }, linesOf(imported));
    } catch (error) {
      if (error instanceof ExportError) refuse(error.message);
      throw error;
    }
  },
};
