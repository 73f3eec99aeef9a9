import type { Dirent } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { CONTENT_STORE_FILES, isFolderName } from "../../kernel/contentPath.ts";
import { FOLDER_MODE } from "../../kernel/fileModes.ts";
import { type CopiedFile, copyBelow } from "./copyFile.ts";
import { nullIfMissing, syncFolder } from "./durableFile.ts";

const FILE_NAME = /^[0-9a-f]{64}$/;
/** How many files to copy at once, because each mostly waits for the disk. */
const COPIES_MAX = 16;

async function entriesIn(path: string): Promise<readonly Dirent[]> {
  return (await readdir(path, { withFileTypes: true }).catch(nullIfMissing)) ?? [];
}

/** The content folders below a path, without links. */
async function folderNamesIn(path: string): Promise<readonly string[]> {
  return (await entriesIn(path))
    .filter((entry) => isFolderName(entry.name) && !entry.isSymbolicLink())
    .map(({ name }) => name);
}

/** Whether a path below the root of a content directory can be one of its files. */
export function isContentPath(path: string): boolean {
  const parts = path.split("/");
  const name = parts.pop() ?? "";
  if (parts.length === 0) return CONTENT_STORE_FILES.includes(name);
  return parts.length === 3 && parts.every(isFolderName) && FILE_NAME.test(name);
}

/** The paths of a content directory's folders below `root`, `<workspace>/<owner>/<folder>`. */
async function* contentFolders(root: string, below = "", depth = 3): AsyncGenerator<string> {
  if (depth === 0) yield below;
  else
    for (const name of await folderNamesIn(join(root, below)))
      yield* contentFolders(root, join(below, name), depth - 1);
}

/** The files of a content directory, as paths below it. May miss files written or removed meanwhile. */
async function* contentFiles(root: string): AsyncGenerator<string> {
  for (const name of CONTENT_STORE_FILES) yield name;
  for await (const folder of contentFolders(root)) {
    for (const { name } of await entriesIn(join(root, folder)))
      if (FILE_NAME.test(name)) yield join(folder, name);
  }
}

/** Whether a file of content was damaged before it was copied: its name is its digest. */
export function isDamagedCopy({ path, sha256 }: CopiedFile): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return FILE_NAME.test(name) && name !== sha256;
}

/** Copies a content directory durably, many files at once, without files erased meanwhile. */
export async function* copyContentTree(root: string, target: string): AsyncGenerator<CopiedFile> {
  await mkdir(target, { recursive: true, mode: FOLDER_MODE });
  const copying: Promise<CopiedFile | null>[] = [];
  const settleOldest = async function* () {
    const copied = await copying.shift();
    if (copied) yield copied;
  };
  for await (const path of contentFiles(root)) {
    const copied = copyBelow(root, target, path);
    // Its failure is reported when its turn comes.
    copied.catch(() => {});
    copying.push(copied);
    if (copying.length >= COPIES_MAX) yield* settleOldest();
  }
  while (copying.length > 0) yield* settleOldest();
  await syncFolder(target);
}
