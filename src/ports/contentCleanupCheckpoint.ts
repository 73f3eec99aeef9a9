import type { Position } from "./eventStore.ts";

/** How far the content clean-up has read the log. Only this instance remembers it. */
export interface ContentCleanupCheckpoint {
  /** The saved position; the log's start if none is saved or it belongs to another log. */
  load(): Position;
  /** Need not survive a crash: the events since the last position that did are read again. */
  save(position: Position): void;
}
