import { type DirectoryLock, lockDirectory } from "../../adapters/sqlite/directoryLock.ts";
import { onCopy } from "../../adapters/sqlite/follow/logCopy.ts";

/** The lock of the one process that keeps a copy. It belongs to whatever directory is in the place of the copy. */
export class CopyLock implements Disposable {
  private lock: DirectoryLock | null = null;

  constructor(private readonly directory: string) {}

  /**
   * Whether we hold it. Takes it first if we do not, or if somebody has put another directory there. Throws `StoreError`
   * if its file cannot be used.
   */
  isHeld(): boolean {
    if (this.lock?.isInPlace()) return true;
    this[Symbol.dispose]();
    this.lock = onCopy(this.directory, () => lockDirectory(this.directory));
    return this.lock !== null;
  }

  [Symbol.dispose](): void {
    this.lock?.release();
    this.lock = null;
  }
}
