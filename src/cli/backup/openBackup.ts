import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { copyContentTree } from "../../adapters/directory/copyContentTree.ts";
import { readFollowStatus } from "../../adapters/directory/followStatusFile.ts";
import { type CopiedFile, copyBelow, copyDurably } from "../../adapters/durableFiles/copyFile.ts";
import { syncFolder } from "../../adapters/durableFiles/durableFile.ts";
import { CopyReader } from "../../adapters/sqlite/follow/copyReader.ts";
import { positionNumber } from "../../adapters/sqlite/logPosition.ts";
import { FOLDER_MODE } from "../../kernel/fileModes.ts";
import { locationOfFault } from "../../ports/eventStore.ts";
import { fileCountText } from "../output/fileCountText.ts";
import { progressBar } from "../output/progressBar.ts";
import { refuse } from "../program/command.ts";
import {
  BACKUP_CONTENT,
  BACKUP_LOG,
  type BackupFacts,
  checkBackup,
  type OnChecked,
  readBackupFacts,
  readManifest,
} from "./backupManifest.ts";
import { checkFollowedContent, currentFacts } from "./checkFollowedCopy.ts";
import { ContentFaults } from "./contentFaults.ts";

/** Files to copy concurrently: each mostly waits for the disk. */
const COPIES_MAX = 16;

/** What to tell people of a backup that is older than its status says. */
export const OLDER = `${BACKUP_LOG} has fewer events than the status of the copy tells: was an older one put in its place?`;

/** A backup whose every byte was checked, to be restored. */
export interface OpenBackup {
  /** Of a copy that is kept up to date: as of its last round. */
  readonly facts: BackupFacts;
  readonly files: number;
  readonly bytes: number;
  readonly logBytes: number;
  /** What is wrong with the content of a copy that is kept up to date; others are refused. */
  readonly faults: ContentFaults;
  /** Whether its status tells of more events than there are, as where an older state of its log was put in its place. */
  readonly isOlder: boolean;
  /** Copies the log's file to a path at which there is none, durably. */
  copyLog(target: string): Promise<void>;
  /** Copies the content, durably. */
  copyContent(root: string): Promise<void>;
}

/** Called with the sound log of a copy that is kept up to date, before its content is read. */
type OnLog = (log: CopyReader, isAmidRound: boolean) => Promise<void>;

/**
 * Checks a backup, with a progress bar, and does work with it. Refuses a damaged one. A copy that is kept up to date
 * does not change meanwhile, unless its log is released: its follower waits.
 */
export async function withBackup<Result>(
  from: string,
  work: (backup: OpenBackup) => Promise<Result>,
  onLog?: OnLog,
): Promise<Result> {
  const facts = await readBackupFacts(from);
  const bar = progressBar("checking");
  const onFile: OnChecked = (files) => bar.show(0, fileCountText(files));
  if (!facts.following) return work(await openListed(from, onFile).finally(bar.end));
  // Its list has no files, but must be whole.
  await readManifest(from, async () => {});
  using log = CopyReader.open(join(from, BACKUP_LOG));
  return await work(await openFollowed(from, { facts, log, onFile, onLog }).finally(bar.end));
}

async function openListed(from: string, onFile: OnChecked): Promise<OpenBackup> {
  const { log, ...checked } = await checkBackup(from, onFile);
  return {
    ...checked,
    logBytes: log.bytes,
    faults: new ContentFaults(),
    isOlder: false,
    async copyLog(target) {
      const copied = await copyDurably(join(from, BACKUP_LOG), target);
      if (copied?.sha256 !== log.sha256) refuseChanged(BACKUP_LOG);
    },
    copyContent: (root) => copyListedContent(root, from),
  };
}

interface FollowedBackup {
  readonly facts: BackupFacts;
  readonly log: CopyReader;
  readonly onFile: OnChecked;
  readonly onLog: OnLog | undefined;
}

async function openFollowed(
  from: string,
  { facts, log, onFile, onLog }: FollowedBackup,
): Promise<OpenBackup> {
  const view = log.view();
  const [fault] = await view.faults("whole");
  if (fault !== undefined) refuse(`${BACKUP_LOG} is damaged: ${locationOfFault(fault)}: ${fault.detail}`);
  const told = await readFollowStatus(from).then((status) => (status?.logId === facts.logId ? status : null));
  // Events of a round that did not end.
  const ahead = told === null ? 0 : positionNumber(await view.head()) - told.events;
  const isOlder = ahead < 0;
  const current = await currentFacts(facts, view, isOlder ? null : told);
  const logBytes = statSync(join(from, BACKUP_LOG)).size;
  await onLog?.(log, ahead > 0);
  const onContent: OnChecked = ({ files, bytes }) => onFile({ files: files + 1, bytes: bytes + logBytes });
  const content =
    facts.content === "s3"
      ? { files: 0, bytes: 0, faults: new ContentFaults(), damaged: new Set<string>() }
      : await checkFollowedContent(from, { ...current, view }, onContent);
  return {
    facts: current,
    files: content.files + 1,
    bytes: content.bytes + logBytes,
    logBytes,
    faults: content.faults,
    isOlder,
    async copyLog(target) {
      log.copyTo(target);
      await syncFolder(target);
    },
    async copyContent(root) {
      for await (const _copied of copyContentTree(join(from, BACKUP_CONTENT), root, content.damaged));
    },
  };
}

/** Copies only the content that the backup lists, and checks each copy against the list. */
async function copyListedContent(root: string, from: string): Promise<void> {
  const below = `${BACKUP_CONTENT}/`;
  mkdirSync(root, { recursive: true, mode: FOLDER_MODE });
  let copying: Promise<void>[] = [];
  await readManifest(from, async (file) => {
    if (!file.path.startsWith(below)) return;
    copying.push(
      copyListed(join(from, BACKUP_CONTENT), root, { ...file, path: file.path.slice(below.length) }),
    );
    if (copying.length < COPIES_MAX) return;
    await Promise.all(copying);
    copying = [];
  });
  await Promise.all(copying);
}

async function copyListed(from: string, root: string, { path, sha256 }: CopiedFile): Promise<void> {
  if ((await copyBelow(from, root, path))?.sha256 !== sha256) refuseChanged(`${BACKUP_CONTENT}/${path}`);
}

function refuseChanged(path: string): never {
  refuse(`${path} has changed since it was checked`);
}
