import { type FileHandle, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { FILE_MODE, FOLDER_MODE } from "../../kernel/fileModes.ts";
import { isMissing, openRegular, syncFolder } from "./durableFile.ts";

const CHUNK_BYTES = 1_048_576;
/** The end of the name of a copy that is not complete: a process that dies leaves it. */
export const COPY_PARTIAL = ".partial";

/** A copied file. `path` is below the copy's root, with `/`. */
export interface CopiedFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

type Digest = Pick<CopiedFile, "bytes" | "sha256">;

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
 * Copies one regular file durably, first under a temporary name; null if there is none. The digest is of the copied
 * bytes.
 */
export async function copyDurably(from: string, to: string): Promise<Digest | null> {
  await mkdir(dirname(to), { recursive: true, mode: FOLDER_MODE });
  const partial = to + COPY_PARTIAL;
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

/** Copies the file at a path below one root to the same path below another, durably; null if there is none. */
export async function copyBelow(root: string, target: string, path: string): Promise<CopiedFile | null> {
  const copied = await copyDurably(join(root, path), join(target, path));
  if (copied === null) return null;
  for (let folder = dirname(path); folder !== "."; folder = dirname(folder))
    await syncFolder(join(target, folder));
  return { path, ...copied };
}
