/** How many streams to remember. */
const STREAMS_MAX = 10_000;

/**
 * Revisions that appends have lost to and nobody has read since. The server answers a loser up to some 30 ms before the
 * winner can be read, so the next reader of the stream may have to wait. It hardly ever does; waiting in the append
 * would cost every loser another read.
 */
export class ConflictsNotYetVisible {
  private readonly revisions = new Map<string, number>();

  /** Remembers a conflict; false if there is no room. */
  add(stream: string, revision: number): boolean {
    const known = this.revisions.get(stream);
    if (known === undefined && this.revisions.size >= STREAMS_MAX) return false;
    this.revisions.set(stream, Math.max(revision, known ?? 0));
    return true;
  }

  /** The revision that an append to `stream` lost to; null if it was read since, or none has lost. */
  of(stream: string): number | null {
    return this.revisions.get(stream) ?? null;
  }

  /** Notes that a read has seen `revision` of `stream`, or can never see it. */
  wasRead(stream: string, revision: number): void {
    const conflict = this.revisions.get(stream);
    if (conflict !== undefined && conflict <= revision) this.revisions.delete(stream);
  }
}
