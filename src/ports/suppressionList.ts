import type { Position } from "./eventStore.ts";

/** Who must not get mail, as this instance's read model has it. */
export interface SuppressionList {
  isSuppressed(workspaceId: string, recipientHash: string): boolean;
  /**
   * Waits until the list holds the log up to `position`, for at most `timeoutMs`; false when it does not. Where
   * reading the log itself costs less than waiting, it answers false at once.
   */
  holds(position: Position, timeoutMs: number): Promise<boolean>;
}
