/** How much content each workspace has stored, according to this instance's read models. */
export interface ContentBytesUsed {
  /** Bytes of message content and template sources; null while the figure is unknown. */
  bytesOf(workspaceId: string): number | null;
}
