import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { FOLDER_MODE } from "../../kernel/fileModes.ts";
import { syncFolder } from "./durableFile.ts";
import { nameWhenComplete } from "./partialPath.ts";

/**
 * Fills a new directory beside `path`, which gets this name only when it is complete and on disk. A failure leaves
 * nothing; what a dead process leaves, the next call removes.
 */
export async function createDirectoryAtomically<Result>(
  path: string,
  fill: (directory: string) => Promise<Result>,
): Promise<Result> {
  // Without the slash at the end that a shell completes.
  const target = resolve(path);
  await mkdir(dirname(target), { recursive: true, mode: FOLDER_MODE });
  const result = await nameWhenComplete(target, async (partial) => {
    await mkdir(partial, { mode: FOLDER_MODE });
    const filled = await fill(partial);
    await syncFolder(partial);
    return filled;
  });
  await syncFolder(dirname(target));
  return result;
}
