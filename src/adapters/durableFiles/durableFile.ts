import { constants } from "node:fs";
import { type FileHandle, link, mkdir, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { temporaryName } from "../../kernel/contentPath.ts";
import { FILE_MODE, FOLDER_MODE } from "../../kernel/fileModes.ts";
import { StoreError } from "../../ports/eventStore.ts";

export function isMissing(error: unknown): boolean {
  return (error as { code?: string }).code === "ENOENT";
}

/** Null for a missing file or folder. Throws every other error. */
export function nullIfMissing(error: unknown): null {
  if (isMissing(error)) return null;
  throw error;
}

/**
 * Opens a regular file for reading. Throws for anything else: somebody who can write to our directory may have put a
 * link to another file there, or a pipe that never yields anything.
 */
export async function openRegular(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if ((await file.stat()).isFile()) return file;
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  throw new StoreError("unavailable", `${path} is no regular file`);
}

/** The bytes of a regular file; null if it has more than `bytesMax`. Throws as {@link openRegular} does. */
export async function readRegular(path: string, bytesMax: number): Promise<Buffer | null> {
  await using file = await openRegular(path);
  return (await file.stat()).size > bytesMax ? null : await file.readFile();
}

/** Creates a folder in one that exists, unless it is there. */
export async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { mode: FOLDER_MODE }).catch((error: { code?: string }) => {
    if (error.code !== "EEXIST") throw error;
  });
}

/** Makes the names in a folder durable (fsync). */
export async function syncFolder(path: string): Promise<void> {
  await using handle = await open(path, "r");
  await handle.sync();
}

/** Writes a temporary file durably, which `place` gives its name beside it. Leaves none behind if that fails. */
async function withTemporary(
  temporary: string,
  bytes: Uint8Array | string,
  place: () => Promise<void>,
): Promise<void> {
  try {
    await writeFile(temporary, bytes, { mode: FILE_MODE, flush: true });
    await place();
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(dirname(temporary));
}

/** The path of a temporary file in the folder of `path`. */
function temporaryBeside(path: string): string {
  return join(dirname(path), temporaryName());
}

/**
 * Writes a file durably and atomically: temporary file, fsync, rename, fsync. Even after a crash, readers see all of the
 * old bytes or all of the new. A process that dies leaves the temporary file, which is in the same folder.
 */
export function writeDurably(
  path: string,
  bytes: Uint8Array,
  temporary = temporaryBeside(path),
): Promise<void> {
  return withTemporary(temporary, bytes, () => rename(temporary, path));
}

/**
 * The text of a file that is written once and for good. If it is missing, writes what `create` returns. If several
 * create it at once, one wins and all return its text. The folder must exist.
 */
export async function readOrCreate(path: string, create: () => string): Promise<string> {
  const read = async () => (await readFile(path, "utf8")).trim();
  try {
    return await read();
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const temporary = temporaryBeside(path);
  await withTemporary(temporary, `${create()}\n`, async () => {
    await link(temporary, path).catch((error: { code?: string }) => {
      if (error.code !== "EEXIST") throw error;
    });
    await rm(temporary);
  });
  return read();
}
