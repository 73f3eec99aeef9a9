import type { MailParseResult, MailParser } from "../../ports/submission/mailParser.ts";
import { parseMail } from "./parseMail.ts";

/** Up to this size a mail is read where it is needed: that takes less than to hand it over. */
const AT_ONCE_BYTES_MAX = 65_536;
/** How long the reading of one mail may take, in ms; one of 16 MB as programs write them takes a tenth of that. */
const PARSE_MS_MAX = 5_000;

const TOO_LONG: MailParseResult = { kind: "refused", reason: "takes too long to read" };

/** Reads mails with postal-mime, large ones on a thread of their own, one at a time. */
export function postalMimeParser(): MailParser {
  let thread: Worker | null = null;
  let last: Promise<unknown> = Promise.resolve();

  const end = (ended: Worker) => {
    ended.terminate();
    if (thread === ended) thread = null;
  };

  const parseOnThread = (bytes: Uint8Array): Promise<MailParseResult> => {
    const worker = thread ?? new Worker(new URL("./mailParserThread.ts", import.meta.url).href);
    thread = worker;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        end(worker);
        resolve(TOO_LONG);
      }, PARSE_MS_MAX);
      worker.onmessage = ({ data }: MessageEvent<MailParseResult>) => {
        clearTimeout(timer);
        resolve(data);
      };
      worker.onerror = ({ message }) => {
        clearTimeout(timer);
        end(worker);
        reject(new Error(message));
      };
      worker.postMessage(bytes);
    });
  };

  return {
    parse(bytes) {
      if (bytes.byteLength <= AT_ONCE_BYTES_MAX) return parseMail(bytes);
      const result = last.then(() => parseOnThread(bytes));
      last = result.catch(() => {});
      return result;
    },
    close() {
      if (thread !== null) end(thread);
    },
  };
}
