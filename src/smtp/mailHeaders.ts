import { refusedFor } from "../http/server/problem.ts";
import type { ParsedMail } from "../ports/submission/mailParser.ts";

/** What a send accepts as a header of the caller's own. */
const OWN = /^(?:x-.+|list-.+|references|in-reply-to|auto-submitted|feedback-id|importance|precedence)$/;
/** What is for us. */
const FOR_US = /^x-(?:idempotency-key$|postledger-)/;
/**
 * What is for the service that was used before this one, and may name further recipients; and the marks of servers that
 * the mail came through.
 */
const FOR_OTHERS =
  /^x-(?:smtpapi|msys-api|mc-|pm-|mt-|mailgun-|ses-|sg-|ms-exchange-|microsoft-|forefront-|google-|gm-|received$|spam-)/;

/**
 * The headers of a mail that go out with its messages, as the `headers` of a send. Throws when one of them is there
 * twice: nobody knows which one counts.
 */
export function mailHeaders({ headers }: ParsedMail): Readonly<Record<string, string>> {
  const own: Record<string, string> = {};
  const names = new Set<string>();
  for (const { name, value } of headers) {
    const lower = name.toLowerCase();
    // Where a long line was folded is not part of its value.
    const text = value.replace(/[ \t]+/g, " ").trim();
    if (!OWN.test(lower) || FOR_US.test(lower) || FOR_OTHERS.test(lower) || text === "") continue;
    if (names.has(lower)) {
      const message = "must occur once in the header";
      throw refusedFor("INVALID_REQUEST", [{ pointer: `/${lower}`, message }]);
    }
    names.add(lower);
    own[name] = text;
  }
  return own;
}
