import { createWriteStream, existsSync } from "node:fs";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { readLines } from "../../adapters/directory/compressedLineFile.ts";
import { isContentPath } from "../../adapters/directory/copyContentTree.ts";
import { type CopiedFile, digestFile } from "../../adapters/directory/copyFile.ts";
import { logFault } from "../../adapters/sqlite/vacuumCopy.ts";
import type { ExportHeader } from "../../commands/log/exportFormat.ts";
import { parseJson } from "../../kernel/text/json.ts";
import { CommandFailure } from "../program/command.ts";

/** The parts of a backup, below its directory. */
export const BACKUP_LOG = "events.db";
export const BACKUP_KEY = "master.key";
export const BACKUP_CONTENT = "content";
const MANIFEST = "manifest.jsonl";
const FORMAT = 1;
const FILE_MODE = 0o600;

/** Facts about a backup. */
export interface BackupFacts
  extends Pick<ExportHeader, "logId" | "contentStoreId" | "sealedDataKey" | "sealed"> {
  readonly backupId: string;
  readonly createdAt: string;
  /** `s3`: the content is not in the backup. */
  readonly content: "directory" | "s3";
}

/** The backup cannot be used. The message tells people why. */
export class BackupError extends CommandFailure {
  constructor(message: string) {
    super("refused", message);
  }
}

/** Writes the list of a backup's files while they are copied; it is complete once closed. */
export class ManifestWriter {
  private readonly hasher = new Bun.CryptoHasher("sha256");
  private readonly file;
  /** Settles when all is written, or rejects with the first fault, which `close` throws. */
  private readonly written: Promise<void>;
  files = 0;
  bytes = 0;

  constructor(directory: string, facts: BackupFacts) {
    this.file = createWriteStream(join(directory, MANIFEST), { mode: FILE_MODE, flags: "wx", flush: true });
    this.written = finished(this.file);
    this.written.catch(() => {});
    this.write({ postledger: "backup", format: FORMAT, ...facts });
  }

  add(file: CopiedFile): void {
    this.files += 1;
    this.bytes += file.bytes;
    this.write({ file });
  }

  async close(): Promise<void> {
    const { files, bytes } = this;
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

function parsed(line: string): Line {
  const value = parseJson(line);
  if (value === undefined) throw new BackupError("the list of the backup's files is damaged");
  return value as Line;
}

function factsOf(line: Line): BackupFacts {
  if (line.postledger !== "backup") throw new BackupError("this is not a backup");
  if (line.format !== FORMAT) {
    throw new BackupError(`the backup is of format ${String(line.format)}, this version reads ${FORMAT}`);
  }
  return line as unknown as BackupFacts;
}

/** A file from the list, whose path must be one that a backup can have. */
function fileOf({ file }: Line): CopiedFile {
  const { path, bytes, sha256 } = (file ?? {}) as Partial<CopiedFile>;
  const isText = typeof path === "string" && typeof sha256 === "string" && typeof bytes === "number";
  if (!isText || !isPartPath(path))
    throw new BackupError("the backup's list names a path that a backup cannot hold");
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

/** Goes through the files of a backup. Throws {@link BackupError} at the end if the list is incomplete. */
export async function readManifest(
  directory: string,
  each: (file: CopiedFile) => Promise<void>,
): Promise<BackupFacts> {
  if (!existsSync(join(directory, MANIFEST))) throw new BackupError(`there is no backup in ${directory}`);
  const hasher = new Bun.CryptoHasher("sha256");
  const facts: BackupFacts[] = [];
  let digest: unknown;
  const take = async (text: string) => {
    const line = parsed(text);
    digest = (line.end as Line | undefined)?.sha256;
    if (digest !== undefined) return;
    hasher.update(`${text}\n`);
    if (facts.length === 0) facts.push(factsOf(line));
    else await each(fileOf(line));
  };
  for await (const page of readLines(join(directory, MANIFEST))) for (const text of page) await take(text);
  const [first] = facts;
  if (first === undefined || digest !== hasher.digest("hex")) {
    throw new BackupError("the list of the backup's files is cut short or damaged");
  }
  return first;
}

/** The result of checking a backup. */
export interface CheckedBackup {
  readonly facts: BackupFacts;
  readonly files: number;
  readonly bytes: number;
  /** The part of `bytes` that is the log. */
  readonly logBytes: number;
}

/** Reads every byte of a backup. Throws {@link BackupError} at the first difference from what was written. */
export async function checkBackup(
  directory: string,
  onFile: (checked: Pick<CheckedBackup, "files" | "bytes">) => void,
): Promise<CheckedBackup> {
  let [files, bytes] = [0, 0];
  let logBytes: number | null = null;
  const facts = await readManifest(directory, async (file) => {
    const found = await digestFile(join(directory, file.path)).catch(() => null);
    if (found === null) throw new BackupError(`${file.path} is missing or unreadable`);
    if (file.path === BACKUP_LOG) logBytes = found.bytes;
    if (found.sha256 !== file.sha256) throw new BackupError(`${file.path} is damaged`);
    files += 1;
    bytes += found.bytes;
    onFile({ files, bytes });
  });
  if (logBytes === null) throw new BackupError(`the list of the backup's files lacks ${BACKUP_LOG}`);
  const fault = logFault(join(directory, BACKUP_LOG));
  if (fault !== null) throw new BackupError(`${BACKUP_LOG} is damaged: ${fault}`);
  return { facts, files, bytes, logBytes };
}
