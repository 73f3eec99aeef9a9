import { copyFile, link, mkdir, open, readdir, readFile, rename, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  filePath,
  folderPath,
  isFolderName,
  isTemporaryName,
  LOG_FILE,
  ownerPath,
  temporaryName,
} from "../../kernel/contentPath.ts";
import { sha256Of } from "../../kernel/crypto/sha256.ts";
import { FILE_MODE, FOLDER_MODE } from "../../kernel/fileModes.ts";
import {
  type ContentFolder,
  type ContentStore,
  type ContentWriter,
  DamagedContentError,
  type FoundFolder,
  orStoreError,
} from "../../ports/contentStore.ts";
import {
  isMissing,
  makeFolder,
  nullIfMissing,
  openRegular,
  readOrCreate,
  syncFolder,
  writeDurably,
} from "../durableFiles/durableFile.ts";
import { ContentRoot } from "./contentRoot.ts";

/** How often to recreate a folder that a clean-up removed just before a file was written into it. */
const FOLDER_ATTEMPTS_MAX = 100;
/** A file cannot have another hard link: it has too many, is on another disk, or the file system has none. */
const NO_SECOND_NAME: ReadonlySet<string> = new Set(["EMLINK", "EXDEV", "EPERM", "ENOTSUP", "EOPNOTSUPP"]);
/** Errors that leave the folder alone: it is in use, or already gone. */
const STAYS_OR_GONE: ReadonlySet<string> = new Set(["ENOTEMPTY", "EEXIST", "ENOENT", "EBUSY"]);

/** Content in a directory: `<root>/<workspace>/<owner>/<folder>/<sha256>`. */
export function directoryContentStore(root: string): ContentStore {
  const place = new ContentRoot(root);
  const whilePresent = <Result>(work: () => Promise<Result>) => orStoreError(() => place.whilePresent(work));
  // Paths are built outside `orStoreError`, because a malformed id is our bug and not the store's failure.
  const at = (path: string) => join(root, path);
  const put = async (folder: ContentFolder, bytes: Uint8Array) => {
    const path = at(folderPath(folder));
    const sha256 = sha256Of(bytes);
    await whilePresent(() => inFolder(root, path, (made) => writeDurably(join(made, sha256), bytes)));
    return sha256;
  };
  const remove = async (path: string) => whilePresent(() => removeBelow(root, path));

  return {
    create: () => orStoreError(() => place.create()),
    identity: () => orStoreError(() => place.identity()),
    claimedBy: () =>
      orStoreError(() => readFile(at(LOG_FILE), "utf8").then((text) => text.trim(), nullIfMissing)),
    claim: (logId) => whilePresent(() => readOrCreate(at(LOG_FILE), () => logId)),
    now: () => whilePresent(() => clockOf(root)),
    put,
    async writer(folder) {
      const path = at(folderPath(folder));
      return orStoreError(async () => {
        await place.requirePresent();
        return inFolder(
          root,
          path,
          (made) => fileWriter(place, made),
          (writer) => writer.abort(),
        );
      });
    },
    async get(folder, sha256) {
      const path = at(filePath(folder, sha256));
      const read = () => readWhole(path, sha256);
      return (await orStoreError(read)) ?? whilePresent(read);
    },
    async link(from, sha256, to) {
      const [source, path] = [at(filePath(from, sha256)), at(folderPath(to))];
      return whilePresent(() => inFolder(root, path, (made) => linkDurably(source, join(made, sha256))));
    },
    removeOwner: async (owner) => remove(ownerPath(owner)),
    removeFolder: async (folder) => remove(folderPath(folder)),
    removeFile: async (folder, sha256) => remove(filePath(folder, sha256)),
    async removeTemporary(folder) {
      const path = at(folderPath(folder));
      await whilePresent(() => removeTemporaryIn(path));
    },
    folders: () => foldersIn(place),
  };
}

async function readWhole(path: string, sha256: string): Promise<Uint8Array | null> {
  const file = await openRegular(path).catch(nullIfMissing);
  const bytes = file && (await file.readFile().finally(() => file.close()));
  if (bytes !== null && sha256Of(bytes) !== sha256) throw new DamagedContentError(sha256);
  return bytes;
}

async function removeTemporaryIn(path: string): Promise<void> {
  for (const name of (await readdir(path).catch(nullIfMissing)) ?? []) {
    if (isTemporaryName(name)) await rm(join(path, name), { force: true });
  }
}

/** The time by the clock of the directory's file system, which may be on another machine. */
async function clockOf(root: string): Promise<number> {
  const path = join(root, temporaryName());
  try {
    await (await open(path, "wx", FILE_MODE)).close();
    return (await stat(path)).mtimeMs;
  } finally {
    await rm(path, { force: true });
  }
}

/**
 * Runs `work` in a folder, after creating missing folders, and then makes each durable in its parent. A clean-up may
 * remove a folder while it is empty, so work that finds its folder gone starts over. Once the work has put a file into
 * the folder, it stays; so the work comes first. `undo` reverts it when the rest fails.
 */
async function inFolder<Result>(
  root: string,
  path: string,
  work: (path: string) => Promise<Result>,
  undo?: (result: Result) => Promise<void>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const isNew = await createFolder(path);
      const result = await work(path);
      if (isNew) {
        await syncAbove(root, path).catch(async (error: unknown) => {
          await undo?.(result);
          throw error;
        });
      }
      return result;
    } catch (error) {
      if (!isMissing(error) || attempt === FOLDER_ATTEMPTS_MAX) throw error;
    }
  }
}

/**
 * Creates a folder and the two above it; false if it was there. The first is created by itself, because a recursive call
 * would create a missing root, too.
 */
async function createFolder(path: string): Promise<boolean> {
  await makeFolder(dirname(dirname(path)));
  return (await mkdir(path, { recursive: true, mode: FOLDER_MODE })) !== undefined;
}

async function syncAbove(root: string, path: string): Promise<void> {
  const above = dirname(path);
  for (const parent of [above, dirname(above), root]) await syncFolder(parent);
}

/** Removes a path below `root` with everything in it, and then the folders above it that are empty. */
async function removeBelow(root: string, path: string): Promise<void> {
  // Retries, so that a file written meanwhile (by another request, beside our folder) does not make it fail.
  await rm(join(root, path), { recursive: true, force: true, maxRetries: 3 });
  for (let above = dirname(path); above !== "."; above = dirname(above)) {
    const isRemoved = await rmdir(join(root, above)).then(
      () => true,
      (error: { code?: string }) => {
        if (isMissing(error)) return true;
        if (STAYS_OR_GONE.has(error.code ?? "")) return false;
        throw error;
      },
    );
    if (!isRemoved) return;
  }
}

/** Creates a hard link to `source`, or copies it if it cannot be linked; false if it does not exist. */
async function linkDurably(source: string, target: string): Promise<boolean> {
  if ((await stat(source).catch(nullIfMissing)) === null) return false;
  try {
    await link(source, target);
  } catch (error) {
    const code = (error as { code?: string }).code ?? "";
    if (code !== "EEXIST" && !NO_SECOND_NAME.has(code)) throw error;
    if (code !== "EEXIST") return copyDurably(source, target);
  }
  await syncFolder(dirname(target));
  return true;
}

async function copyDurably(source: string, target: string): Promise<boolean> {
  const temporary = join(dirname(target), temporaryName());
  try {
    await copyFile(source, temporary);
    const file = await open(temporary, "r+");
    await file.sync().finally(() => file.close());
    await rename(temporary, target);
    await syncFolder(dirname(target));
    return true;
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Writes into a temporary file of the folder, which is renamed once its digest is known. */
async function fileWriter(place: ContentRoot, folder: string): Promise<ContentWriter> {
  const temporary = join(folder, temporaryName());
  const file = await open(temporary, "wx", FILE_MODE);
  const hasher = new Bun.CryptoHasher("sha256");
  let bytes = 0;
  const abort = async () => {
    await file.close();
    await rm(temporary, { force: true });
  };
  return {
    write: (chunk) =>
      orStoreError(async () => {
        hasher.update(chunk);
        bytes += chunk.byteLength;
        await file.writeFile(chunk);
      }),
    finish: () =>
      orStoreError(async () => {
        const sha256 = hasher.digest("hex");
        try {
          await file.sync();
          await file.close();
          await rename(temporary, join(folder, sha256));
          await syncFolder(folder);
        } catch (error) {
          await abort().catch(() => {});
          throw error;
        }
        await place.requirePresent();
        return { sha256, bytes };
      }),
    abort: () => orStoreError(abort),
  };
}

async function* foldersIn(place: ContentRoot): AsyncIterable<FoundFolder> {
  await orStoreError(() => place.requirePresent());
  const root = place.path;
  for (const workspaceId of await foldersOf(root)) {
    for (const ownerId of await foldersOf(join(root, workspaceId))) {
      for (const folderId of await foldersOf(join(root, workspaceId, ownerId))) {
        const found = await orStoreError(() => inspect(join(root, workspaceId, ownerId, folderId)));
        if (found !== null) yield { workspaceId, ownerId, folderId, ...found };
      }
    }
  }
}

/**
 * The newest time of the folder and its files. A folder's own time changes when a name comes or goes but not while a
 * file grows, and a linked file keeps its old time.
 */
async function inspect(path: string): Promise<Pick<FoundFolder, "modifiedAt" | "hasTemporary"> | null> {
  const folder = await stat(path).catch(nullIfMissing);
  if (folder === null) return null;
  const names = (await readdir(path).catch(nullIfMissing)) ?? [];
  let modifiedAt = folder.mtimeMs;
  for (const name of names) {
    const file = await stat(join(path, name)).catch(nullIfMissing);
    modifiedAt = Math.max(modifiedAt, file?.mtimeMs ?? 0);
  }
  return { modifiedAt, hasTemporary: names.some(isTemporaryName) };
}

async function foldersOf(path: string): Promise<readonly string[]> {
  const names = await orStoreError(() => readdir(path).catch(nullIfMissing));
  return (names ?? []).filter(isFolderName);
}
