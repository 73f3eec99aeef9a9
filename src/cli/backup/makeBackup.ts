import { realpath, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { copyContentTree, isDamagedCopy } from "../../adapters/directory/copyContentTree.ts";
import { copyDurably, digestFile } from "../../adapters/durableFiles/copyFile.ts";
import { createDirectoryAtomically } from "../../adapters/durableFiles/createDirectoryAtomically.ts";
import { syncFolder } from "../../adapters/durableFiles/durableFile.ts";
import { vacuumCopy } from "../../adapters/sqlite/vacuumCopy.ts";
import { instanceAggregate } from "../../commands/aggregateDefinitions.ts";
import { recordBackupOrExport } from "../../commands/instance/recordBackupOrExport.ts";
import { type Loaded, load } from "../../commands/transact.ts";
import type { InstanceState } from "../../domain/instance/state.ts";
import { invariant } from "../../kernel/assert.ts";
import { newId } from "../../kernel/ids.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { rfc3339 } from "../../kernel/time.ts";
import { isEmbedded, logPath } from "../../service/adapters/openStore.ts";
import type { Config } from "../../service/config/config.ts";
import { ConfigError } from "../../service/config/configError.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { fileCountText } from "../output/fileCountText.ts";
import { progressBar } from "../output/progressBar.ts";
import { refuse } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";
import {
  BACKUP_CONTENT,
  BACKUP_KEY,
  BACKUP_LOG,
  type BackupFacts,
  ManifestWriter,
} from "./backupManifest.ts";
import { keyOpensLog } from "./keyOpensLog.ts";

/** Only a log on this machine can be backed up. Throws a {@link ConfigError} (exit status 2). */
export function requireEmbedded(config: Config): void {
  if (isEmbedded(config)) return;
  throw new ConfigError([
    `the log is on EventStoreDB: back it up by the server's own means, and with \`${POSTLEDGER} log export --out <file>\``,
  ]);
}

/** What to copy, and where to. */
interface BackupRequest {
  readonly out: string;
  /** Whether to copy the master key too. */
  readonly withKey: boolean;
  /** Whether the backup is kept up to date from then on. */
  readonly following: boolean;
}

/** Records the copy in the log before it is taken, so no copy goes unrecorded. The key is checked first. */
async function factsOf(config: Config, { out, withKey, following }: BackupRequest): Promise<BackupFacts> {
  const createdAt = rfc3339(Date.now());
  const { state } = await withLog(
    config,
    async ({ log }) => {
      if (withKey) await requireKeyOf(config, await load(log, instanceAggregate));
      // That it is followed is recorded once it is there: what was interrupted can then begin again.
      const copy = { kind: "backup", place: resolve(out) } as const;
      await recordBackupOrExport(log, copy, systemCommandContext("cli"));
      return load(log, instanceAggregate);
    },
    { writes: true, copiesContent: true },
  );
  invariant(state, "a log that is open has an instance");
  const { logId, contentStoreId, sealedDataKey, frozenAt } = state;
  const content = config.content.kind;
  const sealed = frozenAt !== null;
  return { backupId: newId(), createdAt, logId, contentStoreId, sealedDataKey, sealed, content, following };
}

/** Refuses to copy a key that does not open the log, because MASTER_KEY holds the right one. */
async function requireKeyOf({ dataDir }: Config, { state }: Loaded<InstanceState>): Promise<void> {
  if (state === null || !(await keyOpensLog(join(dataDir, BACKUP_KEY), state.sealedDataKey)))
    refuse(
      "the master.key in DATA_DIR does not open the log: its key comes from MASTER_KEY; keep it by itself",
    );
}

/** A backup that was made. */
interface MadeBackup extends BackupFacts {
  readonly files: number;
  readonly bytes: number;
  /** Files of content that were damaged before they were copied. */
  readonly damaged: number;
}

/** Makes a backup in a new directory, which gets its name only when it is complete and on disk. */
export function makeBackup(config: Config, request: BackupRequest): Promise<MadeBackup> {
  return createDirectoryAtomically(request.out, (directory) => fill(config, directory, request));
}

/** What to tell about a backup that was made: where it is, and what it lacks. */
export function madeBackupLines(out: string, made: MadeBackup, withKey: boolean): readonly string[] {
  const { createdAt, damaged, content } = made;
  return [
    `${out}: ${fileCountText(made)}, as of ${createdAt}`,
    ...(damaged > 0 ? [`${damaged} files of content were damaged before they were copied`] : []),
    ...(content === "s3" ? ["the content is on S3 and not in it: back the bucket up"] : []),
    withKey
      ? "it holds master.key: whoever has the backup can act as the service"
      : "the service starts on it only with the log's MASTER_KEY (DATA_DIR/master.key): keep that in another place",
    "the mail in it is not encrypted: store it like the mail itself",
  ];
}

/**
 * Copies the log first, then the content: content that an event names was stored before the event, so it is copied
 * unless it was erased meanwhile.
 */
async function fill(config: Config, directory: string, request: BackupRequest): Promise<MadeBackup> {
  const { withKey, following } = request;
  const facts = await factsOf(config, request);
  const manifest = new ManifestWriter(directory, facts);
  const bar = progressBar("backup");
  bar.show(0, "the log");
  vacuumCopy(logPath(config), join(directory, BACKUP_LOG));
  // This flushes a file as well as a folder.
  await syncFolder(join(directory, BACKUP_LOG));
  manifest.add({ path: BACKUP_LOG, ...(await digestFile(join(directory, BACKUP_LOG))) });
  if (withKey) {
    // The key may be a link to where secrets are kept.
    const key = await copyDurably(
      await realpath(join(config.dataDir, BACKUP_KEY)),
      join(directory, BACKUP_KEY),
    );
    if (key !== null) manifest.add({ path: BACKUP_KEY, ...key });
  }
  let damaged = 0;
  const { content } = config;
  if (content.kind === "directory") {
    for await (const file of copyContentTree(content.directory, join(directory, BACKUP_CONTENT))) {
      const path = `${BACKUP_CONTENT}/${file.path}`;
      const isDamaged = isDamagedCopy(file);
      if (isDamaged) damaged += 1;
      // What is kept up to date gets the file once it is repaired.
      if (isDamaged && following) await rm(join(directory, path));
      else manifest.add({ ...file, path });
      bar.show(0, fileCountText(manifest));
    }
  }
  await manifest.close();
  bar.end();
  const { files, bytes } = manifest;
  return { ...facts, files, bytes, damaged };
}
