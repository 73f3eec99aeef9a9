import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { IDENTITY_FILE, LOG_FILE } from "../../kernel/contentPath.ts";
import { FOLDER_MODE } from "../../kernel/fileModes.ts";
import { KnownIdentity } from "../../ports/contentStore.ts";
import { nullIfMissing, readOrCreate } from "../durableFiles/durableFile.ts";

/** The directory of a content store. Its file `identity` shows that it is there, and not only its mount point. */
export class ContentRoot {
  private readonly identityPath: string;
  private readonly known = new KnownIdentity();
  /** The file that was last read: device, inode and time of change. Empty: none yet. */
  private lastRead = "";

  constructor(readonly path: string) {
    this.identityPath = join(path, IDENTITY_FILE);
  }

  async create(): Promise<string> {
    await mkdir(this.path, { recursive: true, mode: FOLDER_MODE });
    return this.known.same(await readOrCreate(this.identityPath, () => crypto.randomUUID()));
  }

  async identity(): Promise<string | null> {
    const read = readFile(this.identityPath, "utf8");
    return this.known.same(await read.then((text) => text.trim(), nullIfMissing));
  }

  /** The log that the store belongs to, by its file; null if that is missing or unreadable. */
  async logId(): Promise<string | null> {
    const text = await readFile(join(this.path, LOG_FILE), "utf8").catch(() => null);
    return text?.trim() ?? null;
  }

  /** Throws `ContentStoreError` unless the store is in its place. Reads the file only if it is not the one last read. */
  async requirePresent(): Promise<void> {
    const file = await stat(this.identityPath).catch(nullIfMissing);
    const found = file === null ? "" : `${file.dev} ${file.ino} ${file.ctimeMs}`;
    if (found !== "" && found === this.lastRead) return;
    this.known.requireSame(await this.identity());
    this.lastRead = found;
  }

  /** Does work that a store out of its place would spoil, or answer wrongly: we look before, and again after it. */
  async whilePresent<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.requirePresent();
    const result = await work();
    await this.requirePresent();
    return result;
  }
}
