import type { Position } from "./eventStore.ts";

/** Who must not get mail, according to this instance's read model. */
export interface SuppressionList {
  isSuppressed(workspaceId: string, recipientHash: string): boolean;
  /**
   * Waits at most `timeoutMs` until the list has caught up with `position`; false if it does not. Returns false at once
   * when reading the log itself costs less than waiting.
   */
  holds(position: Position, timeoutMs: number): Promise<boolean>;
}
