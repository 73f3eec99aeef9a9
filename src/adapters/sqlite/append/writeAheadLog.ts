import { closeSync, existsSync, fdatasyncSync, openSync, readSync, writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

const CHUNK_BYTES = 1_024 * 1_024;

/** The write-ahead log of the database at `path`, beside a connection to it that stays open: so it stays the same file. */
export class WriteAheadLog {
  private opened: number | null = null;

  /**
   * `isFlushMissing`: the last flush has failed, or may have, so the next one would leave out what that one could not
   * write. Of what a process has left that was killed nobody knows it.
   */
  constructor(
    private readonly path: string,
    private isFlushMissing = false,
  ) {}

  /** Writes all anew where a flush has failed. False when the disk has failed again, or somebody writes. */
  makeUpForFailedFlush(): boolean {
    return !this.isFlushMissing || this.makeDurable();
  }

  /** Flushes, and writes all anew first where the flush before has failed. False when the disk has failed, or somebody writes. */
  makeDurable(): boolean {
    this.isFlushMissing = !(this.isFlushMissing ? this.rewrite() : this.flush());
    return !this.isFlushMissing;
  }

  /** Waits until all that is written is on disk. False when the disk has failed. */
  flush(): boolean {
    try {
      // Without such a file everything is in the database itself, where it was flushed.
      if (this.opened !== null || existsSync(this.file)) fdatasyncSync(this.descriptor());
      return true;
    } catch {
      return false;
    }
  }

  /**
   * Writes all bytes over themselves, while nobody else writes, and flushes them: after a failed flush the system takes
   * what it could not write for written, and the next flush would leave it out. False when somebody writes, or the disk
   * has failed.
   */
  rewrite(): boolean {
    try {
      using db = new DatabaseSync(this.path);
      db.exec("PRAGMA busy_timeout = 0; BEGIN IMMEDIATE");
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      for (let at = 0, read = 1; read > 0; at += read) {
        read = readSync(this.descriptor(), chunk, 0, CHUNK_BYTES, at);
        if (read > 0) writeSync(this.descriptor(), chunk, 0, read, at);
      }
    } catch {
      return false;
    }
    return this.flush();
  }

  close(): void {
    if (this.opened !== null) closeSync(this.opened);
    this.opened = null;
  }

  private get file(): string {
    return `${this.path}-wal`;
  }

  private descriptor(): number {
    this.opened ??= openSync(this.file, "r+");
    return this.opened;
  }
}
