import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isFolderName } from "../../kernel/contentPath.ts";
import { isMissing, openRegular, syncFolder } from "./durableFile.ts";

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const FILE_NAME = /^[0-9a-f]{64}$/;
/** What names the content store and its log, in a directory as on S3. */
const OWN_FILES = ["identity", "log"];
const CHUNK_BYTES = 1_048_576;
/** Files that are copied at once: most of the time of each is waiting for the disk. */
const COPIES_MAX = 16;

/** A file of a copy. `path` is below its root, with `/`. */
export interface CopiedFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

async function namesIn(path: string): Promise<readonly string[]> {
  return readdir(path).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
}

/** Folders of content below a path; links are none. */
async function folderNamesIn(path: string): Promise<readonly string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  return entries
    .filter((entry) => isFolderName(entry.name) && !entry.isSymbolicLink())
    .map(({ name }) => name);
}

/** Whether a path below the root of a content directory is that of a file of content. */
export function isContentPath(path: string): boolean {
  const parts = path.split("/");
  const name = parts.pop() ?? "";
  if (parts.length === 0) return OWN_FILES.includes(name);
  return parts.length === 3 && parts.every(isFolderName) && FILE_NAME.test(name);
}

/** The paths below `root` of the folders that a content directory has, `<workspace>/<owner>/<folder>`. */
async function* contentFolders(root: string, below = "", depth = 3): AsyncGenerator<string> {
  if (depth === 0) yield below;
  else
    for (const name of await folderNamesIn(join(root, below)))
      yield* contentFolders(root, join(below, name), depth - 1);
}

/** The files of a content directory, by their paths below it; what is written or removed meanwhile may be missing. */
async function* contentFiles(root: string): AsyncGenerator<string> {
  for (const name of OWN_FILES) yield name;
  for await (const folder of contentFolders(root)) {
    for (const name of await namesIn(join(root, folder))) if (FILE_NAME.test(name)) yield join(folder, name);
  }
}

type Digest = Pick<CopiedFile, "bytes" | "sha256">;

/** The lower-case hex SHA-256 of a regular file and its length, read piece by piece; `copy` gets each of them. */
export async function digestFile(path: string, copy?: FileHandle): Promise<Digest> {
  const hasher = new Bun.CryptoHasher("sha256");
  const file = await openRegular(path);
  let bytes = 0;
  try {
    const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, (await file.stat()).size + 1));
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
      if (bytesRead === 0) return { bytes, sha256: hasher.digest("hex") };
      const piece = chunk.subarray(0, bytesRead);
      hasher.update(piece);
      await copy?.writeFile(piece);
      bytes += bytesRead;
    }
  } finally {
    await file.close();
  }
}

/**
 * Copies one regular file durably under a temporary name first; null when there is none. What is copied is what is
 * digested.
 */
export async function copyDurably(from: string, to: string): Promise<Digest | null> {
  await mkdir(dirname(to), { recursive: true, mode: FOLDER_MODE });
  const partial = `${to}.partial`;
  try {
    await rm(partial, { force: true });
    const file = await open(partial, "wx", FILE_MODE);
    const digest = await copyInto(from, file).finally(() => file.close());
    await rename(partial, to);
    return digest;
  } catch (error) {
    if (isMissing(error) && (await stat(from).catch(() => null)) === null) return null;
    throw error;
  } finally {
    await rm(partial, { force: true });
  }
}

async function copyInto(from: string, file: FileHandle): Promise<Digest> {
  const digest = await digestFile(from, file);
  await file.sync();
  return digest;
}

/** Copies the file at a path below one root to the same path below another, durably; null when there is none. */
export async function copyBelow(root: string, target: string, path: string): Promise<CopiedFile | null> {
  const copied = await copyDurably(join(root, path), join(target, path));
  if (copied === null) return null;
  for (let folder = dirname(path); folder !== "."; folder = dirname(folder))
    await syncFolder(join(target, folder));
  return { path, ...copied };
}

/** Copies a content directory durably, many files at once; what is erased meanwhile is left out. */
export async function* copyContentTree(root: string, target: string): AsyncGenerator<CopiedFile> {
  await mkdir(target, { recursive: true, mode: FOLDER_MODE });
  const copying: Promise<CopiedFile | null>[] = [];
  const settleOldest = async function* () {
    const copied = await copying.shift();
    if (copied) yield copied;
  };
  for await (const path of contentFiles(root)) {
    const copied = copyBelow(root, target, path);
    // Its failure is reported in its turn.
    copied.catch(() => {});
    copying.push(copied);
    if (copying.length >= COPIES_MAX) yield* settleOldest();
  }
  while (copying.length > 0) yield* settleOldest();
  await syncFolder(target);
}
