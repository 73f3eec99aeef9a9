import { UNLESS_TEMPLATE } from "../http/email/sendEmailFaults.ts";
import type { Problem } from "../http/server/problem.ts";
import type { ProblemCode } from "../http/server/problemCodes.ts";
import { excerpt } from "../kernel/text/textLength.ts";
import type { SmtpReply } from "../ports/submission/submissionServer.ts";

/** A reply's code and enhanced code (RFC 3463), such as 554 5.6.0. */
type ReplyCodes = readonly [code: number, enhanced: string];

/** A reply line has at most 512 octets (RFC 5321 §4.5.3.1.5); the codes and the line end need some of them. */
const TEXT_CHARACTERS_MAX = 480;

const CONTENT: ReplyCodes = [554, "5.6.0"];
const TOO_LARGE: ReplyCodes = [552, "5.3.4"];
const POLICY: ReplyCodes = [550, "5.7.1"];
const LATER: ReplyCodes = [451, "4.7.1"];
const BROKEN: ReplyCodes = [451, "4.3.0"];

/**
 * The SMTP codes of each refusal of a send: 4xx if the same mail may be accepted later, so a mail server in between keeps
 * it and retries; 5xx if it never will be.
 */
const CODES: Readonly<Partial<Record<ProblemCode, ReplyCodes>>> = {
  INVALID_REQUEST: CONTENT,
  IDEMPOTENCY_KEY_REQUIRED: CONTENT,
  IDEMPOTENCY_CONFLICT: CONTENT,
  UNAUTHORIZED: [530, "5.7.0"],
  FORBIDDEN: POLICY,
  SENDER_UNAVAILABLE: POLICY,
  SENDING_PAUSED: LATER,
  DAILY_LIMIT_REACHED: LATER,
  RATE_LIMITED: LATER,
  STORAGE_LIMIT_EXCEEDED: [452, "4.3.1"],
  ATTACHMENT_LIMIT_EXCEEDED: TOO_LARGE,
  PAYLOAD_TOO_LARGE: TOO_LARGE,
  ATTACHMENT_INVALID: CONTENT,
  ATTACHMENT_TYPE_UNSUPPORTED: [554, "5.6.1"],
  INTERNAL_ERROR: BROKEN,
};

/** A problem as an SMTP reply: its codes, what is wrong, and the API's error code. */
export function replyOf(problem: Problem): SmtpReply {
  const [code, enhanced] = problem.options.isPermanent ? TOO_LARGE : (CODES[problem.code] ?? CONTENT);
  // A pointer, which over HTTP names a member of the body, names a header field here. Mail has no templates, and its keys
  // are in fields of its own.
  const message = problem.message
    .replace(/^\/tags(?:\/(\d+))?/, tagsField)
    .replace(/^\/deliver_before/, "X-Postledger-Deliver-Before")
    .replace(/^\/content_retention/, "X-Postledger-Content-Retention")
    .replace(/^\//, "")
    .replace(/^The Idempotency-Key /, "The X-Idempotency-Key or Message-ID ")
    .replace(UNLESS_TEMPLATE, "");
  const text = `${message} (${problem.code})`;
  return reply(code, enhanced, text);
}

/** The field that sets the tags, with the number of the tag that is at fault, if it is one. */
function tagsField(_: string, index?: string): string {
  return `X-Postledger-Tags${index === undefined ? "" : `, tag ${Number(index) + 1}`}`;
}

/** A one-line reply in ASCII. */
export function reply(code: number, enhanced: string, text: string): SmtpReply {
  const plain = text.replace(/[^\x20-\x7e]/g, "?");
  return { code, text: `${enhanced} ${excerpt(plain, TEXT_CHARACTERS_MAX)}` };
}
