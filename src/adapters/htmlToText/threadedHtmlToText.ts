import { jobThread } from "../../kernel/jobThread.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import type { HtmlToText, HtmlToTextResult } from "../../ports/mail/htmlToText.ts";

/** The longest html that a message can have takes some tens of ms. */
const CONVERSION_MS_MAX = 2 * SECOND_MS;
/** How many may wait, each with its html in memory. The thread converts one at a time. */
const WAITING_MAX = 256;
/** One owner for all, so they are converted in order of arrival. */
const OWNER = "everybody";
const BUSY: HtmlToTextResult = { kind: "busy" };

/**
 * Reads html with the library html-to-text on its own thread. A thread that takes too long is terminated, and the next
 * html starts another one, so nobody else waits for longer than that.
 */
export function threadedHtmlToText(conversionMsMax = CONVERSION_MS_MAX): HtmlToText {
  const script = new URL("./htmlToTextThread.ts", import.meta.url).href;
  const tooLong: HtmlToTextResult = { kind: "unreadable" };
  const thread = jobThread<string, HtmlToTextResult>(script, { msMax: conversionMsMax, tooLong });
  let pending = 0;
  let isClosed = false;
  return {
    async read(html) {
      // One of them is in progress.
      if (isClosed || pending > WAITING_MAX) return BUSY;
      pending += 1;
      try {
        return await thread.run(html, OWNER);
      } catch {
        return BUSY;
      } finally {
        pending -= 1;
      }
    },
    close() {
      isClosed = true;
      thread.close();
    },
  };
}
