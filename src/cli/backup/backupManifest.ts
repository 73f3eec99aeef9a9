import { createWriteStream, existsSync, readFileSync } from "node:fs";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { isContentPath } from "../../adapters/directory/copyContentTree.ts";
import { readLines } from "../../adapters/durableFiles/compressedLineFile.ts";
import { type CopiedFile, digestFile } from "../../adapters/durableFiles/copyFile.ts";
import { logFault } from "../../adapters/sqlite/vacuumCopy.ts";
import type { ExportHeader } from "../../commands/log/exportFormat.ts";
import { FILE_MODE } from "../../kernel/fileModes.ts";
import { parseJson } from "../../kernel/text/json.ts";
import { isTimeAsWritten } from "../../kernel/time.ts";
import { refuse } from "../program/command.ts";

/** The parts of a backup, below its directory. */
export const BACKUP_LOG = "events.db";
export const BACKUP_KEY = "master.key";
export const BACKUP_CONTENT = "content";
const MANIFEST = "manifest.jsonl";
const FORMAT = 1;
/** The format of a copy that is kept up to date: its list names no files. Earlier releases refuse it. */
const FORMAT_FOLLOWING = 2;

/** Facts about a backup. */
export interface BackupFacts
  extends Pick<ExportHeader, "logId" | "contentStoreId" | "sealedDataKey" | "sealed"> {
  readonly backupId: string;
  readonly createdAt: string;
  /** `s3`: the content is not in the backup. */
  readonly content: "directory" | "s3";
  /** Whether the backup is kept up to date: its log and its content then say what is in it, and no list does. */
  readonly following: boolean;
}

/** Which backup it is, under the names that commands print. */
export function backupJson({ backupId, createdAt, logId }: BackupFacts) {
  return { backup_id: backupId, created_at: createdAt, log_id: logId };
}

/** Writes the list of a backup's files while they are copied; it is complete once closed. */
export class ManifestWriter {
  private readonly hasher = new Bun.CryptoHasher("sha256");
  private readonly file;
  /** Settles when all is written, or rejects with the first fault, which `close` throws. */
  private readonly written: Promise<void>;
  files = 0;
  bytes = 0;

  constructor(
    directory: string,
    private readonly facts: BackupFacts,
  ) {
    this.file = createWriteStream(join(directory, MANIFEST), { mode: FILE_MODE, flags: "wx", flush: true });
    this.written = finished(this.file);
    this.written.catch(() => {});
    const { following, ...rest } = facts;
    this.write({ postledger: "backup", format: following ? FORMAT_FOLLOWING : FORMAT, ...rest });
  }

  add(file: CopiedFile): void {
    this.files += 1;
    this.bytes += file.bytes;
    if (!this.facts.following) this.write({ file });
  }

  async close(): Promise<void> {
    const { files, bytes } = this.facts.following ? { files: 0, bytes: 0 } : this;
    this.write({ end: { files, bytes, sha256: this.hasher.copy().digest("hex") } });
    this.file.end();
    await this.written;
  }

  private write(value: object): void {
    const line = `${JSON.stringify(value)}\n`;
    this.hasher.update(line);
    this.file.write(line);
  }
}

type Line = Readonly<Record<string, unknown>>;

function refuseLine(line: number, what: string): never {
  refuse(`line ${line} of ${MANIFEST} is damaged: ${what}`);
}

function parsed(text: string, line: number): Line {
  const value = parseJson(text);
  if (typeof value !== "object" || value === null) refuseLine(line, "it is no JSON object");
  return value as Line;
}

const TEXTS = ["backupId", "logId", "contentStoreId", "sealedDataKey"] as const;

/** The facts on the first line. */
function factsOf(line: Line): BackupFacts {
  if (line.postledger !== "backup") refuse("this is not a backup");
  if (line.format !== FORMAT && line.format !== FORMAT_FOLLOWING) {
    refuse(`the backup is of format ${String(line.format)}, this version reads up to ${FORMAT_FOLLOWING}`);
  }
  const { createdAt, sealed, content } = line;
  const notText = TEXTS.find((name) => typeof line[name] !== "string");
  if (notText !== undefined) refuseLine(1, `${notText} is no text`);
  if (typeof createdAt !== "string" || !isTimeAsWritten(createdAt)) refuseLine(1, "createdAt is no time");
  if (typeof sealed !== "boolean") refuseLine(1, "sealed is neither true nor false");
  if (content !== "directory" && content !== "s3") refuseLine(1, "content is neither directory nor s3");
  return { ...(line as unknown as BackupFacts), following: line.format === FORMAT_FOLLOWING };
}

/** A file from the list, whose path must be one that a backup can have. */
function fileOf({ file }: Line, line: number): CopiedFile {
  const { path, bytes, sha256 } = (file ?? {}) as Partial<CopiedFile>;
  const isText = typeof path === "string" && typeof sha256 === "string" && typeof bytes === "number";
  if (!isText) refuseLine(line, "it names no file");
  if (!isPartPath(path)) refuseLine(line, `a backup cannot hold ${JSON.stringify(path)}`);
  return { path, bytes, sha256 };
}

function isPartPath(path: string): boolean {
  const below = `${BACKUP_CONTENT}/`;
  return (
    path === BACKUP_LOG ||
    path === BACKUP_KEY ||
    (path.startsWith(below) && isContentPath(path.slice(below.length)))
  );
}

/** The facts about a backup, without a look at its files. Refuses what is no backup. */
export async function readBackupFacts(directory: string): Promise<BackupFacts> {
  if (!existsSync(join(directory, MANIFEST))) refuse(`there is no backup in ${directory}`);
  for await (const [first] of readLines(join(directory, MANIFEST)))
    if (first !== undefined) return factsOf(parsed(first, 1));
  refuse(CUT_SHORT);
}

/** The list of a backup that is kept up to date, which says only which one it is; null if there is none. */
export function shortManifest(directory: string): string | null {
  const path = join(directory, MANIFEST);
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}

const CUT_SHORT = "the list of the backup's files is cut short or damaged";

/** Goes through the files of a backup. Refuses at the end if the list is incomplete. */
export async function readManifest(
  directory: string,
  each: (file: CopiedFile) => Promise<void>,
): Promise<BackupFacts> {
  const facts = await readBackupFacts(directory);
  const hasher = new Bun.CryptoHasher("sha256");
  let digest: unknown;
  let count = 0;
  const take = async (text: string) => {
    count += 1;
    const line = parsed(text, count);
    digest = (line.end as Line | null | undefined)?.sha256;
    if (digest !== undefined) return;
    hasher.update(`${text}\n`);
    if (count > 1) await each(fileOf(line, count));
  };
  for await (const page of readLines(join(directory, MANIFEST))) for (const text of page) await take(text);
  if (digest !== hasher.digest("hex")) refuse(CUT_SHORT);
  return facts;
}

/** The result of checking a backup. */
export interface CheckedBackup {
  readonly facts: BackupFacts;
  readonly files: number;
  readonly bytes: number;
  readonly log: CopiedFile;
}

/** Called with how much of a backup was checked so far. */
export type OnChecked = (checked: Pick<CheckedBackup, "files" | "bytes">) => void;

/** Reads every byte of a backup that lists its files. Refuses at the first difference from what was written. */
export async function checkBackup(directory: string, onFile: OnChecked): Promise<CheckedBackup> {
  let [files, bytes] = [0, 0];
  const logs: CopiedFile[] = [];
  const facts = await readManifest(directory, async (file) => {
    if (file.path === BACKUP_LOG) logs.push(file);
    await checkFile(directory, file);
    files += 1;
    bytes += file.bytes;
    onFile({ files, bytes });
  });
  const [log] = logs;
  if (log === undefined) refuse(`the list of the backup's files lacks ${BACKUP_LOG}`);
  const fault = logFault(join(directory, BACKUP_LOG));
  if (fault !== null) refuse(`${BACKUP_LOG} is damaged: ${fault}`);
  return { facts, files, bytes, log };
}

/** Refuses a file that is not as it was listed. */
async function checkFile(directory: string, { path, bytes, sha256 }: CopiedFile): Promise<void> {
  const place = join(directory, path);
  const found = await lstat(place).catch(() => null);
  // Its length is checked first: a file that was made endless is not read.
  if (found?.isFile() && found.size !== bytes) {
    refuse(`${path} is damaged: it has ${found.size} bytes, and had ${bytes}`);
  }
  const digest = await digestFile(place).catch(() => null);
  if (digest === null) refuse(`${path} is missing or unreadable`);
  if (digest.sha256 !== sha256) refuse(`${path} is damaged`);
}
