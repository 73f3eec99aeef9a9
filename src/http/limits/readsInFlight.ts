import { tooManyRequests } from "../server/problem.ts";

/** What one workspace may ask to see at once: a part of what may wait for a turn, so that others find a place. */
export const READS_OF_WORKSPACE_MAX = 250;

/** Counts what each workspace asks to see until it is answered: rates alone let one that asks faster than is answered pile up. */
export class ReadsInFlight {
  private readonly counts = new Map<string, number>();

  /** Counts one; answers what ends it. Throws RATE_LIMITED when the workspace has too many. */
  begin(workspaceId: string): () => void {
    const before = this.counts.get(workspaceId) ?? 0;
    if (before >= READS_OF_WORKSPACE_MAX) {
      throw tooManyRequests(1, "too many lists and pages of this workspace are asked for at once");
    }
    this.counts.set(workspaceId, before + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = (this.counts.get(workspaceId) ?? 1) - 1;
      if (left === 0) this.counts.delete(workspaceId);
      else this.counts.set(workspaceId, left);
    };
  }
}
