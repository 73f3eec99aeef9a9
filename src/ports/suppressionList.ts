/** Who must not get mail, as far as this instance's read model knows. Looked at again, in the log, at delivery. */
export interface SuppressionList {
  isSuppressed(workspaceId: string, recipientHash: string): boolean;
}
