/** How much content the workspaces have stored, as this instance's read models have it. */
export interface ContentBytesUsed {
  /** Bytes of the content of messages and of the sources of templates; null while that is not known. */
  bytesOf(workspaceId: string): number | null;
}
