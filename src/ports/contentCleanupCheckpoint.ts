import type { Position } from "./eventStore.ts";

/** How far one reader of the log has come, remembered by this instance alone. */
export interface ContentCleanupCheckpoint {
  /** The log's start when nothing is remembered, or when it was another log's. */
  load(): Position;
  /** What a crash loses of it is read again. */
  save(position: Position): void;
}
