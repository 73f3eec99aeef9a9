import { jobThread } from "../../kernel/concurrency/jobThread.ts";
import type { MailParseResult, MailParser } from "../../ports/submission/mailParser.ts";
import { PARSE_MS_MAX } from "./parseLimits.ts";
import { parseSubmittedMail } from "./parseSubmittedMail.ts";

/** Mails up to this size are read on the caller's thread: a hostile one takes some ms, others less than 1 ms. */
const AT_ONCE_BYTES_MAX = 16_384;
const TOO_LONG: MailParseResult = { kind: "refused", reason: "takes too long to read" };

/** Reads mails with postal-mime, large ones on another thread. */
export function threadedSubmittedMailParser(): MailParser {
  const script = new URL("./submittedMailThread.ts", import.meta.url).href;
  const thread = jobThread<Uint8Array, MailParseResult>(script, { msMax: PARSE_MS_MAX, tooLong: TOO_LONG });
  return {
    parse: (bytes, owner) =>
      bytes.byteLength <= AT_ONCE_BYTES_MAX ? parseSubmittedMail(bytes) : thread.run(bytes, owner),
    close: () => thread.close(),
  };
}
