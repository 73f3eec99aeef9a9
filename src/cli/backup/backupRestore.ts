import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { copyDurably } from "../../adapters/durableFiles/copyFile.ts";
import { syncFolder, writeDurably } from "../../adapters/durableFiles/durableFile.ts";
import { openSqliteEventStore } from "../../adapters/sqlite/sqliteEventStore.ts";
import { instanceAggregate } from "../../commands/aggregateDefinitions.ts";
import { load, transact } from "../../commands/transact.ts";
import { restoreInstance } from "../../domain/instance/decisions.ts";
import { decrypt } from "../../kernel/crypto/encryption.ts";
import { FOLDER_MODE } from "../../kernel/fileModes.ts";
import { newId } from "../../kernel/ids.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { epochMs } from "../../kernel/time.ts";
import { StoreError } from "../../ports/eventStore.ts";
import { openContentStore } from "../../service/adapters/openContentStore.ts";
import { LOG_FILES, logDirectory, logPath, RESTORING } from "../../service/adapters/openStore.ts";
import type { Config } from "../../service/config/config.ts";
import { requireDataDirectoryLock } from "../../service/dataDirectoryLock.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { dataLocationLine } from "../output/dataLocation.ts";
import { fileCountText } from "../output/fileCountText.ts";
import { type Command, refuse } from "../program/command.ts";
import { findMasterKey } from "../program/findMasterKey.ts";
import {
  BACKUP_CONTENT,
  BACKUP_KEY,
  BACKUP_LOG,
  type BackupFacts,
  backupJson,
  readBackupFacts,
} from "./backupManifest.ts";
import { BACKUP_DIRECTORY } from "./backupVerify.ts";
import { keyOpensLog } from "./keyOpensLog.ts";
import { requireEmbedded } from "./makeBackup.ts";
import { OLDER, type OpenBackup, withBackup } from "./openBackup.ts";
import { requireRoom } from "./restoreDiskSpace.ts";

/** What an empty DATA_DIR may contain: the lock that we hold, a key that somebody put there, and what a new disk has. */
const NO_DATA: ReadonlySet<string> = new Set(["lock.db", "lock.db-journal", BACKUP_KEY, "lost+found"]);
/** The file that names the backup while its restore is under way. */
const RESTORED_BACKUP = "backup";

function restoringDirectory(config: Config): string {
  return join(logDirectory(config), RESTORING);
}

/** Whether an interrupted restore of this backup left off here. */
function isBegun(config: Config, { backupId }: BackupFacts): boolean {
  const marker = join(restoringDirectory(config), RESTORED_BACKUP);
  return existsSync(marker) && readFileSync(marker, "utf8") === backupId;
}

/** Refuses if anything but an interrupted restore of this backup is there. */
function requireEmptyOrSameRestore(config: Config, facts: BackupFacts): void {
  if (isBegun(config, facts)) return;
  const marker = join(restoringDirectory(config), RESTORED_BACKUP);
  if (existsSync(marker))
    refuse("a restore of another backup into DATA_DIR was interrupted: empty DATA_DIR first");
  // A restoring directory without a marker is empty.
  const found = readdirSync(config.dataDir).filter((name) => !NO_DATA.has(name) && name !== RESTORING);
  if (found.length > 0) refuse(`DATA_DIR is not empty: there is ${found[0]}`);
  // A write-ahead log that another log has left would be applied to ours.
  const ofLog = LOG_FILES.map((name) => join(logDirectory(config), name)).find(existsSync);
  if (ofLog !== undefined) refuse(`there is a log already: ${ofLog}`);
  const { content } = config;
  if (content.kind !== "directory") return;
  const root = content.directory;
  if (existsSync(root) && readdirSync(root).length > 0) refuse(`${root} is not empty`);
}

/** Where the backup's content is restored to; null where it has none, or the content store is no directory. */
function contentTarget({ content }: Config, facts: BackupFacts): string | null {
  return facts.content === "directory" && content.kind === "directory" ? content.directory : null;
}

/** Refuses if the disk is too small. An interrupted restore has part of its bytes there already. */
function requireRoomFor(config: Config, { facts, bytes, logBytes }: OpenBackup): void {
  if (isBegun(config, facts)) return;
  const directory = contentTarget(config, facts);
  requireRoom([
    { directory: logDirectory(config), bytes: logBytes },
    ...(directory === null ? [] : [{ directory, bytes: bytes - logBytes }]),
  ]);
}

async function begin(config: Config, { backupId }: BackupFacts): Promise<string> {
  const directory = restoringDirectory(config);
  mkdirSync(directory, { recursive: true, mode: FOLDER_MODE });
  await writeDurably(join(directory, RESTORED_BACKUP), Buffer.from(backupId));
  await syncFolder(dirname(directory));
  return directory;
}

/** Copies the log aside, records in it that it is restored, and moves it into place: otherwise it would send. */
async function restoreLog(config: Config, backup: OpenBackup): Promise<void> {
  const aside = join(restoringDirectory(config), BACKUP_LOG);
  for (const ending of ["", "-wal", "-shm"]) await rm(aside + ending, { force: true });
  await backup.copyLog(aside);
  const store = openSqliteEventStore({ path: aside });
  try {
    const { sealed, createdAt, logId } = backup.facts;
    const { state: instance } = await load(store, instanceAggregate);
    if (instance?.logId !== logId) refuse(`${BACKUP_LOG} is not the log that the backup names`);
    const context = systemCommandContext("cli");
    const restoration = {
      copyId: newId(),
      from: "backup",
      takenAt: epochMs(createdAt),
      sealed,
      at: context.at,
    } as const;
    await transact(store, instanceAggregate, (state) => restoreInstance(state, restoration), context);
  } finally {
    await store.close();
  }
  // The last close moves the write-ahead log into the file. If it could not, the restoration is only in the former.
  if (existsSync(`${aside}-wal`))
    throw new StoreError("unavailable", `${aside} could not be completed: is the disk full?`);
  mkdirSync(logDirectory(config), { recursive: true, mode: FOLDER_MODE });
  await rename(aside, logPath(config));
  await syncFolder(logDirectory(config));
}

interface Restored extends OpenBackup {
  /** Whether the log's key is where the service looks for it. */
  readonly hasKey: boolean;
}

/** Restores the key, then the content, and the log last: without the log no service starts. */
async function restore(config: Config, from: string, backup: OpenBackup): Promise<Restored> {
  const { facts } = backup;
  requireEmptyOrSameRestore(config, facts);
  requireRoomFor(config, backup);
  const hasKey = await keyFits(config, facts);
  const bringsKey = !hasKey && existsSync(join(from, BACKUP_KEY)) && (await requireKeyOf(from, facts));
  const directory = await begin(config, facts);
  const ownKey = join(config.dataDir, BACKUP_KEY);
  if (bringsKey) await copyDurably(join(from, BACKUP_KEY), ownKey);
  const contentRoot = contentTarget(config, facts);
  if (contentRoot !== null) await backup.copyContent(contentRoot);
  // An earlier run may have got this far.
  if (!existsSync(logPath(config))) await restoreLog(config, backup);
  await rm(directory, { recursive: true, force: true });
  return { ...backup, hasKey: (await findMasterKey(config)) !== null };
}

/** Refuses unless the key in the backup opens its log. */
async function requireKeyOf(from: string, { sealedDataKey }: BackupFacts): Promise<true> {
  if (!(await keyOpensLog(join(from, BACKUP_KEY), sealedDataKey)))
    refuse(`the ${BACKUP_KEY} in the backup does not open its log: set MASTER_KEY to the key that does`);
  return true;
}

/** Whether the log's key is already there. Refuses if it is another one. */
async function keyFits(config: Config, { sealedDataKey }: BackupFacts): Promise<boolean> {
  const key = await findMasterKey(config);
  if (key === null) return false;
  if (decrypt(key, sealedDataKey) === null) refuse("MASTER_KEY does not belong to the log in the backup");
  return true;
}

/** What to do where content was not restored. */
function contentHint({ content }: BackupFacts, from: string): string {
  if (content === "s3") return "the content was on S3: set CONTENT_URL to that bucket";
  return `the content was not restored, since CONTENT_URL is a bucket: copy ${join(from, BACKUP_CONTENT)} there`;
}

/** A restored log does not know what was done after its copy. */
const DO_AGAIN =
  "before `delivery resume`, do again what was done after the copy was taken: revoke keys, suppress addresses, cancel messages, erase people (docs/backups.md)";

export const backupRestore: Command = {
  name: "backup restore",
  operands: [BACKUP_DIRECTORY],
  summary: "Restore a backup into an empty DATA_DIR",
  description: `Checks every byte first. If it is interrupted, run the same command again. Of a copy that \`backup follow\` made, a damaged or missing file of content does not stop it: exit status 1 then. What was still open when the copy was taken is held until \`${POSTLEDGER} delivery resume\`.`,
  dataDirectory: "made",
  examples: ["DATA_DIR=/srv/mail postledger backup restore /backups/2026-11-21"],
  async run(invocation) {
    const { config } = invocation;
    requireEmbedded(config);
    const from = invocation.operand("dir");
    // Checked before anything is created.
    await readBackupFacts(from);
    mkdirSync(config.dataDir, { recursive: true, mode: FOLDER_MODE });
    using _lock = requireDataDirectoryLock(config.dataDir);
    const { facts, files, bytes, hasKey, faults, isOlder } = await withBackup(from, (backup) =>
      restore(config, from, backup),
    );
    const { createdAt, logId } = facts;
    const isRestored = contentTarget(config, facts) !== null;
    // The log is in place by now: a bucket that does not answer is no reason to fail.
    const claimedBy = isRestored
      ? logId
      : await openContentStore(config)
          .claimedBy()
          .catch(() => null);
    const isContentThere = claimedBy === logId;
    const found = { has_key: hasKey, has_content: isContentThere };
    const older = isOlder ? { older_than_status: true } : {};
    const data = { data_dir: config.dataDir };
    invocation.print({ ...data, ...backupJson(facts), files, bytes, ...found, ...older, ...faults.json() }, [
      dataLocationLine(config),
      `restored as of ${createdAt}: ${fileCountText({ files, bytes })}`,
      ...(isOlder ? [OLDER] : []),
      ...faults.lines(),
      ...(hasKey
        ? []
        : [
            "set MASTER_KEY to the log's, or put its master.key into DATA_DIR: without it the service does not start",
          ]),
      ...(isContentThere ? [] : [contentHint(facts, from)]),
      `start the service; unfinished work is held until \`${POSTLEDGER} delivery resume\``,
      DO_AGAIN,
    ]);
    return faults.count > 0 || isOlder ? 1 : 0;
  },
};
