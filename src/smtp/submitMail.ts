import { createHash } from "node:crypto";
import type { Principal } from "../commands/apiKey/authenticate.ts";
import type { Dependencies } from "../commands/dependencies.ts";
import { sendEmail } from "../commands/email/send/sendEmail.ts";
import type { ValidatedSend } from "../commands/email/send/validatedSend.ts";
import { limitsOf } from "../domain/workspace/workspaceLimits.ts";
import { checkBy } from "../http/body/validation.ts";
import { checkedIdempotencyKey } from "../http/email/idempotencyKey.ts";
import { digestedAttachments, SendEmailBody, sendRequest } from "../http/email/sendEmailRequest.ts";
import { sendProblem } from "../http/email/sendProblem.ts";
import type { RateLimits } from "../http/limits/rateLimits.ts";
import { requireSender } from "../http/server/authorization.ts";
import { invalid, Problem } from "../http/server/problem.ts";
import { problemOf } from "../http/server/problemOfError.ts";
import { contextOfKey } from "../http/server/requestContext.ts";
import type { WorkspaceCommandContext } from "../kernel/event/commandContext.ts";
import { nextTurn } from "../kernel/sleep.ts";
import type { Address } from "../kernel/text/emailAddress.ts";
import type { MailParser, ParsedMail } from "../ports/submission/mailParser.ts";
import { hasPlainLines } from "./readMailBytes.ts";
import { fieldOf, recipientNames, sendRequestFromMail } from "./sendRequestFromMail.ts";

/** Recipients of one mail. A client sends another mail to the others (RFC 5321 §4.5.3.1.10). */
export const RECIPIENTS_MAX = 100;

/** What submitting a mail needs. */
export interface Submitting {
  readonly deps: Dependencies;
  /** Shared with HTTP. */
  readonly rateLimits: RateLimits;
  readonly parser: MailParser;
}

/** A mail that was received completely, with the recipients of its envelope. */
export interface Submitted {
  readonly principal: Principal;
  readonly recipients: readonly string[];
  readonly bytes: Buffer;
  readonly requestId: string;
}

const checkBody = checkBy(SendEmailBody);

/**
 * Accepts one message for each recipient, and returns their ids. Throws the problem of the first one that is refused.
 * Those before it stay accepted: when the client repeats the mail, they are found as replays and the rest is accepted. A
 * mail counts as one request, however many recipients it has.
 */
export async function submitMail(
  { deps, rateLimits, parser }: Submitting,
  { principal, recipients, bytes, requestId }: Submitted,
): Promise<readonly string[]> {
  await countRequest(deps, rateLimits, principal);
  if (!hasPlainLines(bytes)) throw invalid("", "holds a CR or LF alone, or a NUL: lines end with CRLF");
  const parsed = await parser.parse(bytes, principal.workspaceId);
  if (parsed.kind === "refused") throw invalid("", parsed.reason);
  const context = contextOfKey(deps, principal, requestId);
  const sends = await sendsOf({ deps, principal, recipients, context }, parsed.mail);
  const ids: string[] = [];
  for (const send of sends) {
    try {
      const outcome = await sendEmail(deps, send);
      if (outcome.kind !== "accepted") throw sendProblem(outcome, context.at);
      ids.push(outcome.receipt.id);
    } catch (error) {
      throw ids.length === 0 ? error : partly(error, ids.length, sends.length);
    }
  }
  return ids;
}

async function countRequest(deps: Dependencies, rateLimits: RateLimits, principal: Principal): Promise<void> {
  const limits = limitsOf(await deps.workspaces.get(principal.workspaceId), deps.limitsDefault);
  const { retryAfterSeconds } = await rateLimits.count(principal, limits);
  if (retryAfterSeconds === null) return;
  const detail = `too many mails in a short period: try again in ${retryAfterSeconds} s`;
  throw new Problem("RATE_LIMITED", { detail });
}

interface Sending {
  readonly deps: Dependencies;
  readonly principal: Principal;
  readonly recipients: readonly string[];
  readonly context: WorkspaceCommandContext;
}

/** The sends that a mail asks for, checked like those over HTTP. */
async function sendsOf(
  { deps, principal, recipients, context }: Sending,
  mail: ParsedMail,
): Promise<readonly ValidatedSend[]> {
  const body = sendRequestFromMail(mail, deps.inspector);
  const digested = digestedAttachments(body);
  const nameOf = recipientNames(mail);
  const requests: ReturnType<typeof sendRequest>[] = [];
  for (const to of recipients) {
    const name = nameOf(to);
    const one = { ...body, to, ...(name === "" ? {} : { to_name: name }) };
    checkBody(one);
    requests.push(sendRequest(one, digested));
    // Checking a large mail for a hundred recipients in one go would hold up everybody else.
    await nextTurn();
  }
  const keys = recipientIdempotencyKeys(
    mail,
    requests.map(({ to }) => to),
  );
  return requests.map((request, index) => {
    requireSender(principal, request.from.sent);
    return { ...request, idempotencyKey: keys[index] ?? "", workspaceId: principal.workspaceId, context };
  });
}

/** The problem of a recipient after the first one: it has to say that earlier recipients were accepted. */
function partly(error: unknown, accepted: number, all: number): unknown {
  const problem = problemOf(error);
  if (problem === null) return error;
  const detail = `${problem.message}; ${accepted} of ${all} recipients were accepted before`;
  return new Problem(problem.code, { ...problem.options, detail });
}

/**
 * The Idempotency-Key of each recipient's message. With one recipient, a key in the mail is used as it is, so it can be
 * looked up. Otherwise the key, or else the Message-ID, is hashed together with the recipient. A mail with neither is a
 * new one each time. Throws if the key in the mail is invalid.
 */
function recipientIdempotencyKeys(mail: ParsedMail, recipients: readonly Address[]): readonly string[] {
  const given = fieldOf(mail, "x-idempotency-key");
  if (given !== null) {
    const key = checkedIdempotencyKey(given, "/X-Idempotency-Key");
    return recipients.length === 1 ? [key] : recipients.map(keyFrom("key", key));
  }
  const messageId = fieldOf(mail, "message-id")?.trim() ?? "";
  return recipients.map(messageId === "" ? () => `smtp-${crypto.randomUUID()}` : keyFrom("id", messageId));
}

function keyFrom(kind: "key" | "id", value: string) {
  return ({ canonical }: Address) => {
    const digest = createHash("sha256").update(`${kind}\0${value}\0${canonical}`).digest("hex");
    return `smtp-${digest}`;
  };
}
