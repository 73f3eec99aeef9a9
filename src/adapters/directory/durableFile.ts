import { constants } from "node:fs";
import { type FileHandle, link, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

const FILE_MODE = 0o600;

export function isMissing(error: unknown): boolean {
  return (error as { code?: string }).code === "ENOENT";
}

/** What is read of a file or folder that is not there. Throws every other error. */
export function nullIfMissing(error: unknown): null {
  if (isMissing(error)) return null;
  throw error;
}

/**
 * Opens a file to read it, if it is one: whoever can write to a directory of ours may have put a link to another file
 * there, or a pipe that nothing ever comes out of. Throws for those.
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
  throw new Error(`${path} is no regular file`);
}

/** Makes the names in a folder durable (fsync). */
export async function syncFolder(path: string): Promise<void> {
  await using handle = await open(path, "r");
  await handle.sync();
}

/** Writes a temporary file durably beside where it is wanted, and takes it away again after `place`. */
async function withTemporary(
  folder: string,
  bytes: Uint8Array | string,
  place: (temporary: string) => Promise<void>,
): Promise<void> {
  const temporary = join(folder, `.${crypto.randomUUID()}.tmp`);
  try {
    await writeFile(temporary, bytes, { mode: FILE_MODE, flush: true });
    await place(temporary);
    await syncFolder(folder);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Writes a file so that it is there whole or not at all, and stays: temporary file, fsync, rename, fsync. */
export function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  return withTemporary(dirname(path), bytes, (temporary) => rename(temporary, path));
}

/**
 * The text of a file that is written once for good. It is made from `create` where it is missing: of racing
 * creators one wins, and all answer what it wrote. The folder must be there.
 */
export async function readOrCreate(path: string, create: () => string): Promise<string> {
  const read = async () => (await readFile(path, "utf8")).trim();
  try {
    return await read();
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  await withTemporary(dirname(path), `${create()}\n`, async (temporary) => {
    await link(temporary, path).catch((error: { code?: string }) => {
      if (error.code !== "EEXIST") throw error;
    });
  });
  return read();
}
