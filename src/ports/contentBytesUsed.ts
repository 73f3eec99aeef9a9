/** How much content each mail owner has stored, according to this instance's read models. */
export interface ContentBytesUsed {
  /** Bytes of message content and template sources; null while the figure is unknown. */
  bytesOf(ownerId: string): number | null;
}
