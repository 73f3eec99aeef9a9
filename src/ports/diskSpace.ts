/** How much room the data directory's disk has. */
export interface DiskSpace {
  /** Bytes that an ordinary user can still write; measured at most a second ago. 0 while the directory is away. */
  freeBytes(): number;
}
