/** Streams that are remembered at once. */
const STREAMS_MAX = 10_000;

/**
 * What losers of races were told and nobody has read since. The server tells a loser before the winner can be read (up
 * to some 30 ms), so whoever reads such a stream next may have to wait. Nearly always it need not: asking first would
 * cost every loser a read more.
 */
export class ToldRevisions {
  private readonly revisions = new Map<string, number>();

  /** Remembers it; false when there is no room. */
  add(stream: string, revision: number): boolean {
    const known = this.revisions.get(stream);
    if (known === undefined && this.revisions.size >= STREAMS_MAX) return false;
    this.revisions.set(stream, Math.max(revision, known ?? 0));
    return true;
  }

  /** What was told of `stream`; null when it was read since, or nothing was. */
  of(stream: string): number | null {
    return this.revisions.get(stream) ?? null;
  }

  /** A read has seen `revision` of `stream`, or can never see it. */
  wasRead(stream: string, revision: number): void {
    const told = this.revisions.get(stream);
    if (told !== undefined && told <= revision) this.revisions.delete(stream);
  }
}
