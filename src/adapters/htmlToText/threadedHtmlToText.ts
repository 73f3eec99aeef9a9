import { jobThread } from "../../kernel/concurrency/jobThread.ts";
import type { HtmlReading, HtmlToText, HtmlToTextResult } from "../../ports/mail/htmlToText.ts";

/**
 * In processor time. A newsletter of 450,000 characters takes 50 to 140 ms, the first one of a thread 300 ms, and 150,000
 * paragraphs that never end 480 ms; some html takes 5 s.
 */
const CONVERSION_MS_MAX = 2_000;
/** How many may be in progress or wait, each with its html in memory. The thread converts one at a time. */
const PENDING_MAX = 512;
/** How many of one owner: a batch of 100 sends all at once. */
const PENDING_MAX_OF_OWNER = 128;
const BUSY: HtmlToTextResult = { kind: "busy" };
const OWNER_BUSY: HtmlToTextResult = { kind: "ownerBusy" };

/**
 * Reads html with the library html-to-text on its own thread. A thread that takes too long is terminated, and the next
 * html starts another one, so nobody else waits for longer than that.
 */
export function threadedHtmlToText(conversionMsMax = CONVERSION_MS_MAX): HtmlToText {
  const script = new URL("./htmlToTextThread.ts", import.meta.url).href;
  const tooLong: HtmlReading = { kind: "unreadable", processorMs: conversionMsMax };
  const thread = jobThread<string, HtmlReading>(script, { msMax: conversionMsMax, tooLong });
  let pending = 0;
  const pendingOf = new Map<string, number>();
  const count = (owner: string, change: 1 | -1) => {
    pending += change;
    const now = (pendingOf.get(owner) ?? 0) + change;
    if (now === 0) pendingOf.delete(owner);
    else pendingOf.set(owner, now);
  };
  let isClosed = false;
  return {
    async read(html, { id, isAbandoned }) {
      if (isClosed || pending >= PENDING_MAX) return BUSY;
      if ((pendingOf.get(id) ?? 0) >= PENDING_MAX_OF_OWNER) return OWNER_BUSY;
      count(id, 1);
      try {
        return await thread.run(html, id, isAbandoned);
      } catch {
        return BUSY;
      } finally {
        count(id, -1);
      }
    },
    close() {
      isClosed = true;
      thread.close();
    },
  };
}
