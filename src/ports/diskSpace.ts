/** How much room is left on the data directory's disk. */
export interface DiskSpace {
  /** Bytes that an ordinary user can still write, measured at most a second ago. 0 while the directory is missing. */
  freeBytes(): number;
}
