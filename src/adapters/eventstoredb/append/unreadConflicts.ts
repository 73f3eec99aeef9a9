/** Streams that are remembered at once. */
const STREAMS_MAX = 10_000;

/**
 * Revisions that appends have lost to and nobody has read since. The server answers a loser before the winner can be
 * read (up to some 30 ms), so whoever reads such a stream next may have to wait. Nearly always it need not: asking
 * first would cost every loser a read more.
 */
export class UnreadConflicts {
  private readonly revisions = new Map<string, number>();

  /** Remembers it; false when there is no room. */
  add(stream: string, revision: number): boolean {
    const known = this.revisions.get(stream);
    if (known === undefined && this.revisions.size >= STREAMS_MAX) return false;
    this.revisions.set(stream, Math.max(revision, known ?? 0));
    return true;
  }

  /** The revision that an append to `stream` has lost to; null when it was read since, or none has lost. */
  of(stream: string): number | null {
    return this.revisions.get(stream) ?? null;
  }

  /** A read has seen `revision` of `stream`, or can never see it. */
  wasRead(stream: string, revision: number): void {
    const conflict = this.revisions.get(stream);
    if (conflict !== undefined && conflict <= revision) this.revisions.delete(stream);
  }
}
