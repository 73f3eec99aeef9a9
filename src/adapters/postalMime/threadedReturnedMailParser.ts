import { jobThread } from "../../kernel/jobThread.ts";
import type { ReturnedMailParts } from "../../kernel/mail/returnedMailParts.ts";
import type { ReturnedMailParser } from "../../ports/mail/returnedMailParser.ts";
import { PARSE_MS_MAX } from "./parseLimits.ts";

/** Nobody has logged in: all of them are one. */
const OWNER = "strangers";

/**
 * Reads mail that comes back on a thread of its own: anybody may send it, and a tenth of a second for each, where
 * requests are answered, would hold up all of them.
 */
export function threadedReturnedMailParser(): ReturnedMailParser & { close(): void } {
  const script = new URL("./returnedMailThread.ts", import.meta.url).href;
  const limits = { msMax: PARSE_MS_MAX, tooLong: null };
  const thread = jobThread<Uint8Array, ReturnedMailParts | null>(script, limits);
  return {
    parse: (bytes) => thread.run(bytes, OWNER).catch(() => null),
    close: () => thread.close(),
  };
}
