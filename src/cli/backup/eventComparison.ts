import type { LogCopy } from "../../adapters/sqlite/follow/logCopy.ts";
import type { SourceLog } from "../../adapters/sqlite/follow/sourceLog.ts";

/** How many pages of the log one turn reads: with one every ten minutes, 4.6 million events or 73 GB a day. */
const PAGES_MAX = 32;

/**
 * Compares the events of a copy with those of its log, in turns: no round shows that the file of the copy, or the log's,
 * has been damaged. Changes neither, because it cannot tell which of the two is right.
 */
export class EventComparison {
  private pages = 0;

  /**
   * `comparedTo` is the position of the last event that was compared; 0: the first one comes next. `differsAt` is the
   * position of the first event that differs; null while none is known.
   */
  constructor(
    public comparedTo: number,
    public differsAt: number | null,
  ) {}

  /** Begins another turn. */
  begin(): void {
    this.pages = 0;
  }

  /** Compares the next page. False at the end of the turn, and at an event that differs, where the next turn begins. */
  compareNext(source: SourceLog, copy: LogCopy): boolean {
    const page = source.page(this.comparedTo);
    source.requireInPlace();
    const head = copy.head();
    const events = page.events.filter(({ position }) => position <= head);
    this.differsAt = copy.firstDifference({ ...page, events });
    // It begins again behind the last one.
    this.comparedTo = this.differsAt === null ? (events.at(-1)?.position ?? 0) : this.differsAt - 1;
    this.pages += 1;
    return this.differsAt === null && events.length > 0 && this.pages < PAGES_MAX;
  }
}
