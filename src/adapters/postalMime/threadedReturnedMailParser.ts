import { JobStarvedError, jobThread } from "../../kernel/concurrency/jobThread.ts";
import type { ReturnedMailParts } from "../../kernel/mail/returnedMailParts.ts";
import type { ReturnedMailParser } from "../../ports/mail/returnedMailParser.ts";
import { PARSE_MS_MAX } from "./parseLimits.ts";

/** One owner for all, because nobody has logged in. */
const OWNER = "strangers";

/**
 * Reads returned mail on its own thread. Anybody may send it, and a tenth of a second for each mail on the main thread
 * would hold up all requests.
 */
export function threadedReturnedMailParser(): ReturnedMailParser & { close(): void } {
  const script = new URL("./returnedMailThread.ts", import.meta.url).href;
  const limits = { msMax: PARSE_MS_MAX, tooLong: null };
  const thread = jobThread<Uint8Array, ReturnedMailParts | null>(script, limits);
  return {
    parse: (bytes) =>
      thread.run(bytes, OWNER).catch((error: unknown) => {
        // The mail is not to blame: its server sends it again.
        if (error instanceof JobStarvedError) throw error;
        return null;
      }),
    close: () => thread.close(),
  };
}
