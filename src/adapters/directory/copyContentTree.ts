import type { Dirent } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { CONTENT_STORE_FILES, isFolderName } from "../../kernel/contentPath.ts";
import { FOLDER_MODE } from "../../kernel/fileModes.ts";
import { ContentRoot } from "./contentRoot.ts";
import { type CopiedFile, copyBelow } from "./copyFile.ts";
import { nullIfMissing, syncFolder } from "./durableFile.ts";

/** The name of a file of content: its digest. */
export const FILE_NAME = /^[0-9a-f]{64}$/;
/** How many files to copy at once, because each mostly waits for the disk. */
const COPIES_MAX = 16;

/** The entries of a folder of content; none if it was erased. */
export async function entriesIn(source: ContentRoot, below: string): Promise<readonly Dirent[]> {
  const entries = await readdir(join(source.path, below), { withFileTypes: true }).catch(nullIfMissing);
  if (entries === null) await source.requirePresent();
  return entries ?? [];
}

/** The content folders below a path, without links. */
async function folderNamesIn(source: ContentRoot, below: string): Promise<readonly string[]> {
  return (await entriesIn(source, below))
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

/** The paths of a content directory's folders below its root, `<workspace>/<owner>/<folder>`. */
export async function* contentFolders(source: ContentRoot, below = "", depth = 3): AsyncGenerator<string> {
  if (depth === 0) yield below;
  else
    for (const name of await folderNamesIn(source, below))
      yield* contentFolders(source, join(below, name), depth - 1);
}

/** The files of a content directory, as paths below it. May miss files written or removed meanwhile. */
export async function* contentFiles(source: ContentRoot): AsyncGenerator<string> {
  for (const name of CONTENT_STORE_FILES) yield name;
  for await (const folder of contentFolders(source)) {
    for (const { name } of await entriesIn(source, folder))
      if (FILE_NAME.test(name)) yield join(folder, name);
  }
}

/** Whether a file of content was damaged before it was copied: its name is its digest. */
export function isDamagedCopy({ path, sha256 }: CopiedFile): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return FILE_NAME.test(name) && name !== sha256;
}

/**
 * Copies a content directory durably, many files at once, without files erased meanwhile and the paths to be left out. Throws `ContentStoreError`
 * if the directory is not in its place when a file is missing, or in the end: then nobody can tell what was erased.
 */
export async function* copyContentTree(
  root: string,
  target: string,
  leftOut: ReadonlySet<string> = new Set(),
): AsyncGenerator<CopiedFile> {
  const source = new ContentRoot(root);
  await source.requirePresent();
  await mkdir(target, { recursive: true, mode: FOLDER_MODE });
  const copying: Promise<CopiedFile | null>[] = [];
  const settleOldest = async function* () {
    const copied = await copying.shift();
    if (copied) yield copied;
    else await source.requirePresent();
  };
  for await (const path of contentFiles(source)) {
    if (leftOut.has(path)) continue;
    const copied = copyBelow(root, target, path);
    // Its failure is reported when its turn comes.
    copied.catch(() => {});
    copying.push(copied);
    if (copying.length >= COPIES_MAX) yield* settleOldest();
  }
  while (copying.length > 0) yield* settleOldest();
  await source.requirePresent();
  await syncFolder(target);
}
