import { statSync } from "node:fs";

/** How long a look at the paths is good for, because each costs up to 0.1 ms of the thread that takes requests. */
const LOOK_MS = 100;

/** The file that a path led to when it was opened. */
export class OpenedFile {
  /** Identifies the file; null if the path led to none. */
  readonly id: string | null;

  constructor(readonly path: string) {
    this.id = fileAt(path);
  }

  isInPlace(): boolean {
    return fileAt(this.path) === this.id;
  }

  /** Whether the path now leads to another file, not merely to none. */
  isReplaced(): boolean {
    const found = fileAt(this.path);
    return found !== null && found !== this.id;
  }
}

/**
 * The open log's file, and the two that SQLite keeps beside it as long as anybody has it open: its write-ahead log, and
 * the index of that. What goes into them is lost once their paths lead elsewhere. They are recognised by device and
 * inode, as SQLite recognises a moved database (`fileHasMoved` in its `os_unix.c`); so the log needs a file system that
 * keeps the inode of an open file, as every local disk does.
 */
export class ReplacedLogFiles {
  private readonly files: readonly OpenedFile[];
  private missed: string | null = null;
  private lookedAt = Number.NEGATIVE_INFINITY;

  /** To be called once the log has been read, because SQLite then has all three open. */
  constructor(path: string) {
    this.files = [path, `${path}-wal`, `${path}-shm`].map((file) => new OpenedFile(file));
  }

  /** Identifies the log's own file. */
  get logId(): string | null {
    return this.files[0]?.id ?? null;
  }

  /** The first path that no longer leads to its file; null while all of them do. */
  missing(): string | null {
    this.missed = this.files.find((file) => !file.isInPlace())?.path ?? null;
    this.lookedAt = performance.now();
    return this.missed;
  }

  /** The same, as of {@link LOOK_MS} ago at the earliest. */
  recentlyMissing(): string | null {
    return performance.now() - this.lookedAt < LOOK_MS ? this.missed : this.missing();
  }

  /**
   * Whether another file is in the place of one of them. Then other processes may write to that one, and we must write
   * to none. While a path leads to no file, ours is still as we know it.
   */
  isReplaced(): boolean {
    return this.files.some((file) => file.isReplaced());
  }
}

/** Identifies the file at a path; null if there is none, or nobody can tell. */
function fileAt(path: string): string | null {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev} ${ino}`;
  } catch {
    return null;
  }
}
