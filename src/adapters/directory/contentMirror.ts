import { existsSync, lstatSync } from "node:fs";
import { rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { forEachConcurrently } from "../../kernel/concurrency/forEachConcurrently.ts";
import { CONTENT_STORE_FILES, IDENTITY_FILE, LOG_FILE } from "../../kernel/contentPath.ts";
import { isNoRoomError, systemErrorCode } from "../../kernel/text/systemErrorText.ts";
import { ContentStoreError } from "../../ports/contentStore.ts";
import { copyBelow, type Digest, digestFile } from "../durableFiles/copyFile.ts";
import { writeDurably } from "../durableFiles/durableFile.ts";
import { ContentRoot } from "./contentRoot.ts";
import { filesIn, folderNames, isDamagedCopy } from "./copyContentTree.ts";

/** Files of a folder to copy at once, because each mostly waits for the disk. */
const COPIES_MAX = 4;
/** How much of the copy a comparison reads, to find bytes that have changed; a file counts as `min` at least. */
const READ_BYTES = { max: 256_000_000, min: 128_000 } as const;

/** Errors that may be about one file or folder alone. */
const OF_ONE_PATH: ReadonlySet<string> = new Set([
  "EACCES",
  "EEXIST",
  "EIO",
  "EISDIR",
  "ELOOP",
  "ENOTDIR",
  "ENOTEMPTY",
  "EPERM",
]);

/** What a comparison found in a folder. Paths are below the root, with `/`. */
export interface ComparedFolder {
  /** Files that only the copy has. */
  readonly gone: readonly string[];
  /** Files with other bytes at the source than their names say. They are not copied. */
  readonly damaged: readonly string[];
  /** How many files were damaged in the copy, and were copied again. */
  readonly repaired: number;
}

/**
 * A content directory, and its copy that is kept up to date. Throws `ContentStoreError` if one of them is not in its
 * place: then nothing is missing from it, and nothing is written there. The copy has only whole files, each durable
 * before its call returns.
 */
export class ContentMirror {
  private readonly source: ContentRoot;
  private readonly target: ContentRoot;
  /** What the comparison may still read. */
  private unreadBytes = 0;
  /** What the last comparison could not read at the source, or not read, replace or remove in the copy: it went on. */
  readonly unusable = { source: [] as string[], copy: [] as string[] };
  /** Whether the last comparison could not copy all, because the disk of the copy is full. */
  isFull = false;

  /**
   * `requireInPlace` is called before anything is written, and throws unless the copy is where it was. `readTo` is the
   * last file of the copy that a comparison has read; empty: the next one begins at the first.
   */
  constructor(
    private readonly root: string,
    private readonly copyRoot: string,
    private readonly requireInPlace: () => void,
    public readTo: string,
  ) {
    this.source = new ContentRoot(root);
    this.target = new ContentRoot(copyRoot);
  }

  /** Throws `ContentStoreError` unless both directories are in their places, and belong together. */
  async requirePresent(): Promise<void> {
    await this.source.requirePresent();
    await this.target.requirePresent();
    if ((await this.source.identity()) !== (await this.target.identity()))
      throw new ContentStoreError(`${this.root} is not the content store that the copy was made from`);
  }

  /**
   * Puts back the two small files by which the copy and its log know each other: the identity if it is missing and the
   * source has the one that the copy began with, and the log's id if the copy's file has another text.
   */
  async repairStoreFiles({
    contentStoreId,
    logId,
  }: {
    readonly contentStoreId: string;
    readonly logId: string;
  }): Promise<void> {
    const isSource = (await this.source.identity()) === contentStoreId;
    if (!isSource || !existsSync(this.copyRoot)) return;
    const found = await this.target.identity();
    if (found === null) await this.writeStoreFile(IDENTITY_FILE, contentStoreId);
    else if (found !== contentStoreId) return;
    if ((await this.target.logId()) !== logId) await this.writeStoreFile(LOG_FILE, logId);
  }

  private async writeStoreFile(name: string, text: string): Promise<void> {
    this.requireInPlace();
    await writeDurably(join(this.copyRoot, name), Buffer.from(`${text}\n`));
  }

  /** Copies the files of a folder, if there is one, that the copy lacks. Returns those that are damaged at the source. */
  async copyFolder(folder: string): Promise<readonly string[]> {
    const files = this.listed(() => filesIn(this.root, folder).files, folder) ?? [];
    const { damaged } = await this.copy(this.lacking(files));
    return this.unusable.source.includes(folder) ? [...damaged, folder] : damaged;
  }

  /**
   * Compares which messages and uploads both sides have, and the files of those that only one has; if it is to be
   * `whole`, of all. Reads the next {@link READ_BYTES} of the copy. Copies what the copy lacks or has damaged, as long as
   * there is room, and yields what it found in each folder.
   */
  async *compare(isWhole: boolean): AsyncGenerator<ComparedFolder> {
    this.isFull = false;
    await this.copyWithinRoom(this.lacking(CONTENT_STORE_FILES));
    for (const paths of Object.values(this.unusable)) paths.length = 0;
    this.unreadBytes = READ_BYTES.max;
    for (const { path: owner, isOnBoth } of this.owners()) {
      const isToRead = this.unreadBytes > 0 && owner >= this.readTo.slice(0, owner.length);
      if (isOnBoth && !isWhole && !isToRead) continue;
      for (const { path } of this.foldersIn(owner)) {
        const found = await this.compareFolder(path).catch((error) => this.noteUnusable(path, error));
        if (found !== null) yield found;
      }
    }
    await this.requirePresent();
    if (this.unreadBytes > 0) this.readTo = "";
  }

  /** Removes a file from the copy, or what is in its place, and the folders above it that are empty. */
  async remove(path: string): Promise<void> {
    try {
      await rm(join(this.copyRoot, path), { force: true, recursive: true });
    } catch (error) {
      this.noteUnusable(path, error);
    }
    try {
      for (let above = dirname(path); above !== "."; above = dirname(above))
        await rmdir(join(this.copyRoot, above));
    } catch {
      // This one is not empty.
    }
  }

  private lacking(paths: readonly string[]): readonly string[] {
    return paths.filter((path) => !existsSync(join(this.copyRoot, path)));
  }

  private *owners() {
    for (const { path } of this.foldersIn(".")) yield* this.foldersIn(path);
  }

  /** The folders below a path that either side has, in order, without those that cannot be used in the copy. */
  private foldersIn(below: string) {
    const inCopy = this.listed(() => folderNames(this.copyRoot, below), below);
    if (inCopy === null) return [];
    const copied = new Set(inCopy);
    const source = new Set(this.listed(() => folderNames(this.root, below), below));
    return [...source.union(copied)]
      .sort()
      .filter((name) => copied.has(name) || this.isFree(join(below, name)))
      .map((name) => ({ path: join(below, name), isOnBoth: source.has(name) && copied.has(name) }));
  }

  /** Whether the copy, which has no folder there, has no link there either. Notes one. */
  private isFree(folder: string): boolean {
    try {
      this.requireNoLink(folder);
      return true;
    } catch (error) {
      this.noteUnusable(folder, error);
      return false;
    }
  }

  /** Throws if a folder of the copy, or one above it, is a link: a restore follows none. */
  private requireNoLink(folder: string): void {
    for (let below = folder; below !== "."; below = dirname(below)) {
      const path = join(this.copyRoot, below);
      if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) continue;
      throw Object.assign(new Error(`${path} is a link in the place of a folder`), { code: "ELOOP", path });
    }
  }

  private async compareFolder(folder: string): Promise<ComparedFolder> {
    // The copy comes first: what the source lacks by then was not merely added meanwhile.
    const { files, partial } = filesIn(this.copyRoot, folder);
    const [copied, source] = [new Set(files), new Set(filesIn(this.root, folder).files)];
    // Of a process that was killed.
    for (const path of partial) await this.remove(path);
    const gone = [...copied.difference(source)];
    // Afterwards, because the directory may have gone away meanwhile.
    if (gone.length > 0) await this.source.requirePresent();
    const stale: string[] = [];
    for (const path of [...source].sort())
      if (!copied.has(path) || (await this.isDamaged(path))) stale.push(path);
    const { done, damaged } = await this.copyWithinRoom(stale);
    return { gone, damaged, repaired: done.filter((path) => copied.has(path)).length };
  }

  /** Whether a file that both have is another one in the copy: by its length, and by its bytes if it is to be read. */
  private async isDamaged(path: string): Promise<boolean> {
    const [copied, source] = [this.copyRoot, this.root].map((root) =>
      lstatSync(join(root, path), { throwIfNoEntry: false }),
    );
    if (!copied?.isFile() || copied.size !== source?.size) return true;
    if (path <= this.readTo || this.unreadBytes <= 0) return false;
    this.unreadBytes -= Math.max(copied.size, READ_BYTES.min);
    this.readTo = path;
    const digest = await digestFile(join(this.copyRoot, path)).catch(() => null);
    return digest === null || isDamagedCopy({ path, ...digest });
  }

  /** Copies files unless the disk of the copy is full: that must not keep what only the copy has. */
  private async copyWithinRoom(paths: readonly string[]) {
    try {
      if (!this.isFull) return await this.copy(paths);
    } catch (error) {
      if (!isNoRoomError(error)) throw error;
      this.isFull = true;
    }
    return { done: [], damaged: [] };
  }

  /** Copies files whose bytes are what their names say, without those that are erased meanwhile. */
  private async copy(paths: readonly string[]) {
    const [done, damaged]: [string[], string[]] = [[], []];
    if (paths.length === 0) return { done, damaged };
    this.requireInPlace();
    await forEachConcurrently(paths, COPIES_MAX, async (path) => {
      this.requireNoLink(dirname(path));
      const isSound = (digest: Digest) => !isDamagedCopy({ path, ...digest });
      const copied = await copyBelow(this.root, this.copyRoot, path, isSound).catch((error) =>
        this.unreadable(path, error),
      );
      if (copied === null) await this.source.requirePresent();
      else (copied !== "unreadable" && isSound(copied) ? done : damaged).push(path);
      return copied !== null;
    });
    return { done, damaged };
  }

  /** After a failure to copy a file: throws it unless it is the source that cannot be read. */
  private async unreadable(path: string, error: unknown): Promise<"unreadable"> {
    const isReadable = await digestFile(join(this.root, path)).then(
      () => true,
      () => false,
    );
    // What it writes to a file does not name the file.
    if (isReadable)
      throw Object.assign(error as object, { path: pathOf(error) ?? join(this.copyRoot, path) });
    await this.source.requirePresent();
    return "unreadable";
  }

  /** What `list` finds in a folder; null, and a note of it, if that cannot be read. */
  private listed(list: () => readonly string[], folder: string): readonly string[] | null {
    try {
      return list();
    } catch (error) {
      return this.noteUnusable(folder, error);
    }
  }

  /** Notes a file or folder that stops nothing else. Throws errors that are about more than that. */
  private noteUnusable(path: string, error: unknown): null {
    if (!OF_ONE_PATH.has(systemErrorCode(error) ?? "")) throw error;
    const isOfSource = pathOf(error)?.startsWith(join(this.root, "/")) ?? false;
    this.unusable[isOfSource ? "source" : "copy"].push(path);
    return null;
  }
}

function pathOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).path;
}
