import { tooManyRequests } from "../server/problem.ts";

/** Concurrent reads per workspace: only part of what may queue, so that others find room. */
export const READS_OF_WORKSPACE_MAX = 250;

/** Counts each workspace's reads in flight: a rate limit alone lets them pile up if answers are slower. */
export class ReadsInFlight {
  private readonly counts = new Map<string, number>();

  /** Counts one read and returns the function that ends it. Throws RATE_LIMITED when the workspace has too many. */
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
