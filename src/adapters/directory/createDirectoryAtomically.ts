import { mkdir, rename, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { syncFolder } from "./durableFile.ts";
import { partialPath, removeDeadPartials } from "./partialPath.ts";

const FOLDER_MODE = 0o700;

/**
 * Fills a new directory beside `path`, which gets this name only when it is complete and on disk. A failure leaves
 * nothing; a dead process leaves a {@link partialPath}, which the next call removes.
 */
export async function createDirectoryAtomically<Result>(
  path: string,
  fill: (directory: string) => Promise<Result>,
): Promise<Result> {
  // Without the slash at the end that a shell completes.
  const target = resolve(path);
  await mkdir(dirname(target), { recursive: true, mode: FOLDER_MODE });
  await removeDeadPartials(target);
  const partial = partialPath(target);
  try {
    await mkdir(partial, { mode: FOLDER_MODE });
    const result = await fill(partial);
    await syncFolder(partial);
    await rename(partial, target);
    await syncFolder(dirname(target));
    return result;
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
}
