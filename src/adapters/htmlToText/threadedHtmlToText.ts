import { jobThread } from "../../kernel/jobThread.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import type { HtmlToText, HtmlToTextResult } from "../../ports/mail/htmlToText.ts";

/** The longest html that a message can have takes some tens of ms. */
const CONVERSION_MS_MAX = 2 * SECOND_MS;
/** One after the other; each waits in memory with its html. */
const WAITING_MAX = 256;
/** All in the order in which they came. */
const OWNER = "everybody";
const BUSY: HtmlToTextResult = { kind: "busy" };

/**
 * Reads html with the library html-to-text on a thread of its own. A thread that takes too long over one is ended, and
 * the next html begins another: nobody else waits for longer than that.
 */
export function threadedHtmlToText(conversionMsMax = CONVERSION_MS_MAX): HtmlToText {
  const script = new URL("./htmlToTextThread.ts", import.meta.url).href;
  const tooLong: HtmlToTextResult = { kind: "unreadable" };
  const thread = jobThread<string, HtmlToTextResult>(script, { msMax: conversionMsMax, tooLong });
  let pending = 0;
  let isClosed = false;
  return {
    async read(html) {
      // One of them is under way.
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
