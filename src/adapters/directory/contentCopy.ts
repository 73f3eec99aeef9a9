import { existsSync } from "node:fs";
import { mkdir, rm, rmdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { CONTENT_STORE_FILES } from "../../kernel/contentPath.ts";
import { FOLDER_MODE } from "../../kernel/fileModes.ts";
import { ContentStoreError } from "../../ports/contentStore.ts";
import { ContentRoot } from "./contentRoot.ts";
import { contentFolders, entriesIn, FILE_NAME, isDamagedCopy } from "./copyContentTree.ts";
import { COPY_PARTIAL, copyBelow } from "./copyFile.ts";

/** How many files to copy at once, because each mostly waits for the disk. */
const COPIES_MAX = 16;

/** What became of one file: `damaged` ones are not copied, so that a repaired one is. */
export interface FileCopied {
  /** Below the root, with `/`. */
  readonly path: string;
  readonly outcome: "copied" | "damaged";
}

/**
 * A content directory, and its copy that is kept up to date. Throws `ContentStoreError` if the directory is not in its
 * place: then nothing is missing from it. The copy has only whole files, each durable before its call returns.
 */
export class ContentCopy {
  private readonly source: ContentRoot;
  private readonly target: ContentRoot;

  constructor(root: string, target: string) {
    this.source = new ContentRoot(root);
    this.target = new ContentRoot(target);
  }

  /** Throws `ContentStoreError` unless both directories are in their places, and belong together. */
  async requirePresent(): Promise<void> {
    await this.source.requirePresent();
    await this.target.requirePresent();
    if ((await this.source.identity()) !== (await this.target.identity()))
      throw new ContentStoreError(`${this.source.path} is not the content store that the copy was made from`);
  }

  /** Whether the source has a folder: `<workspace>/<owner>/<folder>`. */
  has(folder: string): boolean {
    return existsSync(join(this.source.path, folder));
  }

  /** Copies the files of a folder that the copy lacks: `<workspace>/<owner>/<folder>`. */
  async copyFolder(folder: string): Promise<readonly FileCopied[]> {
    const names = (await entriesIn(this.source, folder)).map(({ name }) => name);
    const missing = names
      .filter((name) => FILE_NAME.test(name))
      .map((name) => `${folder}/${name}`)
      .filter((path) => !existsSync(join(this.target.path, path)));
    const done: FileCopied[] = [];
    for (let at = 0; at < missing.length; at += COPIES_MAX) {
      const copied = await Promise.all(missing.slice(at, at + COPIES_MAX).map((path) => this.copyFile(path)));
      done.push(...copied.flatMap((one) => one ?? []));
    }
    return done;
  }

  /** Copies what the copy lacks, folder by folder. */
  async *copyMissing(): AsyncGenerator<readonly FileCopied[]> {
    await mkdir(this.target.path, { recursive: true, mode: FOLDER_MODE });
    for (const name of CONTENT_STORE_FILES)
      if (!existsSync(join(this.target.path, name)))
        await copyBelow(this.source.path, this.target.path, name);
    for await (const folder of contentFolders(this.source)) yield await this.copyFolder(folder);
    await this.source.requirePresent();
  }

  /** For each folder of the copy, its files that the source lacks. Removes copies that a killed process has not completed. */
  async *missingInSource(): AsyncGenerator<readonly string[]> {
    for await (const folder of contentFolders(this.target)) {
      const names = (await entriesIn(this.target, folder)).map(({ name }) => name);
      for (const name of names)
        if (FILE_NAME.test(basename(name, COPY_PARTIAL)) && name.endsWith(COPY_PARTIAL))
          await this.remove(`${folder}/${name}`);
      const missing = names
        .filter((name) => FILE_NAME.test(name))
        .map((name) => `${folder}/${name}`)
        .filter((path) => !existsSync(join(this.source.path, path)));
      // Afterwards, because the directory may have gone away meanwhile.
      if (missing.length > 0) await this.source.requirePresent();
      yield missing;
    }
  }

  /** Removes a file from the copy, and the folders above it that are empty. */
  async remove(path: string): Promise<void> {
    await rm(join(this.target.path, path), { force: true });
    for (let above = dirname(path); above !== "."; above = dirname(above)) {
      const isRemoved = await rmdir(join(this.target.path, above)).then(
        () => true,
        () => false,
      );
      if (!isRemoved) return;
    }
  }

  /** Null if it was erased meanwhile. */
  private async copyFile(path: string): Promise<FileCopied | null> {
    const copied = await copyBelow(this.source.path, this.target.path, path);
    if (copied === null) {
      await this.source.requirePresent();
      return null;
    }
    if (!isDamagedCopy(copied)) return { path, outcome: "copied" };
    await this.remove(path);
    return { path, outcome: "damaged" };
  }
}
