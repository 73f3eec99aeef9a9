import type { Principal } from "../commands/apiKey/authenticate.ts";
import type { Dependencies } from "../commands/dependencies.ts";
import { sendEmail } from "../commands/email/send/sendEmail.ts";
import { sendToAll } from "../commands/email/send/sendToAll.ts";
import { ownerOf, type ValidatedSend } from "../commands/email/send/validatedSend.ts";
import { queueStreamWrite } from "../commands/streamWriteQueue.ts";
import { emailId } from "../domain/email/idempotency.ts";
import { limitsOf } from "../domain/workspace/workspaceLimits.ts";
import { checkBy } from "../http/body/validation.ts";
import { digestedAttachments } from "../http/email/idempotentContent.ts";
import { sendRequest } from "../http/email/sendEmailRequest.ts";
import { SendEmailBody } from "../http/email/sendEmailSchema.ts";
import { sendProblem } from "../http/email/sendProblem.ts";
import type { RateLimits } from "../http/limits/rateLimits.ts";
import { requireSender } from "../http/server/authorization.ts";
import { invalid, Problem } from "../http/server/problem.ts";
import { contextOfKey } from "../http/server/requestContext.ts";
import { nextTurn } from "../kernel/concurrency/sleep.ts";
import type { WorkspaceCommandContext } from "../kernel/event/commandContext.ts";
import type { MailParser, ParsedMail } from "../ports/submission/mailParser.ts";
import { givenKeyOf, idempotencyKeysOf } from "./idempotencyKeys.ts";
import { hasPlainLines } from "./readMailBytes.ts";
import { recipientNames, sendRequestFromMail } from "./sendRequestFromMail.ts";

/** Recipients of one mail. A client sends another mail to the others (RFC 5321 §4.5.3.1.10). */
export const RECIPIENTS_MAX = 100;

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
  /** What its messages' keys come from if the mail itself has nothing to make them from. */
  readonly ownKey: string;
}

const checkBody = checkBy(SendEmailBody);

/**
 * Accepts one message for each recipient, and returns their ids. Throws why the mail is refused: that holds for all its
 * recipients, as the reply does (RFC 5321 §4.2.5). Only if the service fails on the way may some have been accepted:
 * when the client repeats the mail, they are found as replays and the rest is accepted. A mail counts as one request,
 * however many recipients it has.
 */
export async function submitMail(
  { deps, rateLimits, parser }: Submitting,
  { principal, recipients, bytes, requestId, ownKey }: Submitted,
): Promise<readonly string[]> {
  await countRequest(deps, rateLimits, principal);
  if (!hasPlainLines(bytes)) throw invalid("", "holds a CR or LF alone, or a NUL: lines end with CRLF");
  const parsed = await parser.parse(bytes, principal.workspaceId);
  if (parsed.kind === "refused") throw invalid("", parsed.reason);
  const context = contextOfKey(deps, principal, requestId);
  const sending = { deps, principal, recipients, context, ownKey };
  const key = givenKeyOf(parsed.mail);
  if (key === null) return acceptMail(sending, parsed.mail);
  const owner = ownerOf({ workspaceId: principal.workspaceId, context });
  // One mail at a time: which key a recipient's message has depends on what the others have sent.
  const name = `mails of ${emailId(owner, key)}`;
  return queueStreamWrite(deps.store, name, () => acceptMail(sending, parsed.mail));
}

async function acceptMail(sending: Sending, mail: ParsedMail): Promise<readonly string[]> {
  const { deps, context } = sending;
  const sends = await sendsOf(sending, mail);
  const [only] = sends;
  if (only !== undefined && sends.length === 1) {
    const outcome = await sendEmail(deps, only);
    if (outcome.kind !== "accepted") throw sendProblem(outcome, context.at);
    return [outcome.receipt.id];
  }
  const outcome = await sendToAll(deps, sends);
  if (outcome.kind !== "accepted") throw sendProblem(outcome, context.at);
  return outcome.ids;
}

async function countRequest(deps: Dependencies, rateLimits: RateLimits, principal: Principal): Promise<void> {
  const limits = limitsOf(await deps.workspaces.get(principal.workspaceId), deps.limitsDefault);
  const { retryAfterSeconds } = rateLimits.count(principal, limits);
  if (retryAfterSeconds === null) return;
  const detail = `too many mails in a short period: try again in ${retryAfterSeconds} s`;
  throw new Problem("RATE_LIMITED", { detail });
}

interface Sending {
  readonly deps: Dependencies;
  readonly principal: Principal;
  readonly recipients: readonly string[];
  readonly context: WorkspaceCommandContext;
  readonly ownKey: string;
}

/** The sends that a mail asks for, checked like those over HTTP. */
async function sendsOf(
  { deps, principal, recipients, context, ownKey }: Sending,
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
    const request = sendRequest(one, digested);
    requireSender(principal, request.from.sent);
    requests.push(request);
    // Checking a large mail for a hundred recipients in one go would hold up everybody else.
    await nextTurn();
  }
  const { workspaceId } = principal;
  const addresses = requests.map(({ to }) => to);
  const owner = ownerOf({ workspaceId, context });
  const keys = await idempotencyKeysOf(deps, owner, { mail, ownKey }, addresses);
  return requests.map((request, index) => ({
    ...request,
    idempotencyKey: keys[index] ?? "",
    workspaceId,
    context,
  }));
}
