import { statSync } from "node:fs";

/** How long a look at a path is good for, because each costs up to 0.03 ms of the thread that takes requests. */
const LOOK_MS = 100;

/** The file that a path led to when it was opened. What goes into it later is lost once the path leads elsewhere. */
export class OpenedFile {
  /** Identifies the file; null if the path led to none. */
  readonly id: string | null;
  private isThere = true;
  private lookedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly path: string) {
    this.id = fileAt(path);
  }

  /** Whether the path still leads to the file. */
  isInPlace(): boolean {
    this.isThere = fileAt(this.path) === this.id;
    this.lookedAt = performance.now();
    return this.isThere;
  }

  /** Whether the path led to the file {@link LOOK_MS} ago at the earliest. */
  wasInPlace(): boolean {
    return performance.now() - this.lookedAt < LOOK_MS ? this.isThere : this.isInPlace();
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
