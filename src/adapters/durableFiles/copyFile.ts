import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { FILE_MODE } from "../../kernel/fileModes.ts";
import { isMissing, makeFolder, openRegular, syncFolder } from "./durableFile.ts";

const CHUNK_BYTES = 1_048_576;
/** The end of the name of a copy that is not complete: a process that dies leaves it. */
export const COPY_PARTIAL = ".partial";

/** A copied file. `path` is below the copy's root, with `/`. */
export interface CopiedFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** What a file holds. */
export type Digest = Pick<CopiedFile, "bytes" | "sha256">;

/** The lower-case hex SHA-256 and length of a regular file, read piece by piece. Writes each piece to `copy`. */
export async function digestFile(path: string, copy?: FileHandle): Promise<Digest> {
  const hasher = new Bun.CryptoHasher("sha256");
  await using file = await openRegular(path);
  let bytes = 0;
  const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, (await file.stat()).size + 1));
  for (;;) {
    const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
    if (bytesRead === 0) return { bytes, sha256: hasher.digest("hex") };
    const piece = chunk.subarray(0, bytesRead);
    hasher.update(piece);
    await copy?.writeFile(piece);
    bytes += bytesRead;
  }
}

/**
 * Copies one regular file durably, first under a temporary name, and gives it its own if the copied bytes are wanted;
 * null if there is none. The digest is of the copied bytes.
 */
export async function copyDurably(
  from: string,
  to: string,
  isWanted: (digest: Digest) => boolean = () => true,
): Promise<Digest | null> {
  const partial = to + COPY_PARTIAL;
  try {
    await rm(partial, { force: true });
    const file = await open(partial, "wx", FILE_MODE);
    const digest = await copyInto(from, file).finally(() => file.close());
    if (isWanted(digest)) await rename(partial, to);
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

/**
 * Copies the file at a path below one root to the same path below another, durably, as {@link copyDurably} does. Makes
 * the folders above it, but never the root, which may be on a disk that is not mounted any more.
 */
export async function copyBelow(
  root: string,
  target: string,
  path: string,
  isWanted?: (digest: Digest) => boolean,
): Promise<CopiedFile | null> {
  const folders: string[] = [];
  for (let folder = dirname(path); folder !== "."; folder = dirname(folder))
    folders.unshift(join(target, folder));
  for (const folder of folders) await makeFolder(folder);
  const copied = await copyDurably(join(root, path), join(target, path), isWanted);
  if (copied === null) return null;
  for (const folder of [target, ...folders].reverse()) await syncFolder(folder);
  return { path, ...copied };
}
