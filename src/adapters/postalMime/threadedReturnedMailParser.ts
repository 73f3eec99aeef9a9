import type { ReturnedMailParts } from "../../kernel/mail/returnedMailParts.ts";
import type { ReturnedMailParser } from "../../ports/mail/returnedMailParser.ts";
import { parserThreadSupervisor } from "./parserThreadSupervisor.ts";

/** Nobody has logged in: all of them are one. */
const OWNER = "strangers";

/**
 * Reads mail that comes back on a thread of its own: anybody may send it, and a tenth of a second for each, where
 * requests are answered, would hold up all of them.
 */
export function threadedReturnedMailParser(): ReturnedMailParser & { close(): void } {
  const script = new URL("./returnedMailThread.ts", import.meta.url).href;
  const thread = parserThreadSupervisor<ReturnedMailParts | null>(script, null);
  return {
    parse: (bytes) => thread.parse(bytes, OWNER).catch(() => null),
    close: () => thread.close(),
  };
}
