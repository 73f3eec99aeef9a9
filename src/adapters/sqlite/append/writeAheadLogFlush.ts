import { closeSync, existsSync, fdatasyncSync, openSync, readSync, writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { requireFileOfWriteAheadLog } from "../openLogDatabase.ts";

const CHUNK_BYTES = 1_024 * 1_024;

/** The write-ahead log of the database at `path`. It stays the same file because a connection to it stays open. */
export class WriteAheadLogFlush {
  private opened: number | null = null;

  /**
   * `isFlushMissing`: the last flush failed, or may have, as that of a killed process; then the next one would leave
   * out what that one could not write.
   */
  constructor(
    private readonly path: string,
    private isFlushMissing = false,
  ) {}

  /** Rewrites everything if a flush has failed. False when the disk fails again, or somebody else is writing. */
  makeUpForFailedFlush(): boolean {
    return !this.isFlushMissing || this.makeDurable();
  }

  /** Flushes; rewrites everything first if the last flush failed. False when the disk fails, or somebody else writes. */
  makeDurable(): boolean {
    this.isFlushMissing = !(this.isFlushMissing ? this.rewrite() : this.flush());
    return !this.isFlushMissing;
  }

  /** Waits until everything written is on disk. False when the disk fails. */
  flush(): boolean {
    try {
      // Without this file everything is in the database itself, flushed.
      if (this.opened !== null || existsSync(this.file)) fdatasyncSync(this.descriptor());
      return true;
    } catch {
      return false;
    }
  }

  /**
   * Overwrites all bytes with themselves while nobody else writes, and flushes them: after a failed flush the system
   * considers the unwritten pages written, so the next flush would leave them out. False when somebody else is
   * writing, or the disk fails.
   */
  rewrite(): boolean {
    try {
      requireFileOfWriteAheadLog(this.path);
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
