import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { CONTENT_STORE_FILES, isFolderName } from "../../kernel/contentPath.ts";
import { FOLDER_MODE } from "../../kernel/fileModes.ts";
import { COPY_PARTIAL, type CopiedFile, copyBelow } from "../durableFiles/copyFile.ts";
import { nullIfMissing } from "../durableFiles/durableFile.ts";
import { ContentRoot } from "./contentRoot.ts";

/** The name of a file of content: its digest. */
const FILE_NAME = /^[0-9a-f]{64}$/;
/** How many files to copy at once, because each mostly waits for the disk. */
const COPIES_MAX = 16;

/**
 * The entries of a folder; none if there is no folder. It is read at once: a turn of the event loop for each would
 * take almost twice the processor time.
 */
function entriesIn(root: string, below: string): readonly Dirent[] {
  try {
    return readdirSync(join(root, below), { withFileTypes: true });
  } catch (error) {
    return nullIfMissing(error) ?? [];
  }
}

/** The names of the content folders below a path, without links. */
export function folderNames(root: string, below: string): readonly string[] {
  return entriesIn(root, below)
    .filter((entry) => isFolderName(entry.name) && !entry.isSymbolicLink())
    .map(({ name }) => name);
}

/** The paths of the files in a content folder, and of what is left of copies that were not completed. */
export function filesIn(root: string, folder: string) {
  const paths = entriesIn(root, folder).map(({ name }) => `${folder}/${name}`);
  return {
    files: paths.filter((path) => FILE_NAME.test(basename(path))),
    partial: paths.filter((path) => path.endsWith(COPY_PARTIAL)),
  };
}

/** Whether there is a regular file, and no link on the way to it: a link is not copied. */
export function isFileBelow(root: string, path: string): boolean {
  const found = (below: string) => {
    try {
      return lstatSync(join(root, below), { throwIfNoEntry: false });
    } catch {
      // A file is in the place of a folder, say.
      return undefined;
    }
  };
  if (!found(path)?.isFile()) return false;
  for (let above = dirname(path); above !== "."; above = dirname(above))
    if (!found(above)?.isDirectory()) return false;
  return true;
}

/** Whether a path below the root of a content directory can be one of its files. */
export function isContentPath(path: string): boolean {
  const parts = path.split("/");
  const name = parts.pop() ?? "";
  if (parts.length === 0) return CONTENT_STORE_FILES.includes(name);
  return parts.length === 3 && parts.every(isFolderName) && FILE_NAME.test(name);
}

/** The files of a content directory, as paths below it. May miss files written or removed meanwhile. */
export function* contentFiles(root: string): Generator<string> {
  yield* CONTENT_STORE_FILES;
  for (const workspace of folderNames(root, "."))
    for (const owner of folderNames(root, workspace))
      for (const folder of folderNames(root, join(workspace, owner))) {
        yield* filesIn(root, join(workspace, owner, folder)).files;
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
  for (const path of contentFiles(root)) {
    if (leftOut.has(path)) continue;
    const copied = copyBelow(root, target, path);
    // Its failure is reported when its turn comes.
    copied.catch(() => {});
    copying.push(copied);
    if (copying.length >= COPIES_MAX) yield* settleOldest();
  }
  while (copying.length > 0) yield* settleOldest();
  await source.requirePresent();
}
