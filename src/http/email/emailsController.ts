import type { Static } from "@sinclair/typebox";
import type { Context } from "elysia";
import { type EmailQuery, ROW_FILTERS } from "../../../projections/emails/queries.ts";
import type { Principal } from "../../commands/apiKey/authenticate.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { bringForward } from "../../commands/email/bringForward.ts";
import { cancelEmail } from "../../commands/email/cancelEmail.ts";
import { sendingKeyId } from "../../commands/email/emailHistory.ts";
import { metadataHashes } from "../../commands/email/metadataHashes.ts";
import { type EmailView, readEmail, readEmailByKey, readPastEmail } from "../../commands/email/readEmail.ts";
import { rescheduleEmail } from "../../commands/email/rescheduleEmail.ts";
import { sendEmail } from "../../commands/email/send/sendEmail.ts";
import type { SendOutcome } from "../../commands/email/send/sendOutcome.ts";
import { eraseEmail } from "../../commands/erasure/eraseEmailContent.ts";
import { AbandonedError } from "../../commands/template/templateScheduler.ts";
import { permits } from "../../domain/apiKey/scopes.ts";
import { emailIdOfMessageId } from "../../domain/email/messageId.ts";
import { PAST_DEADLINE, scheduleFault } from "../../domain/email/scheduledTime.ts";
import { isTerminal } from "../../domain/email/state.ts";
import type { Waiting } from "../../domain/email/waitingReason.ts";
import type { MailOwner } from "../../kernel/liveOrTestOwner.ts";
import { isObject } from "../../kernel/text/json.ts";
import { epochMs, rfc3339 } from "../../kernel/time.ts";
import { contentLengthOf } from "../body/bodyBytes.ts";
import { addressIn } from "../body/commonFaults.ts";
import { dateTime } from "../body/dateTimeText.ts";
import { catchUpIfInTime } from "../lists/caughtUpReads.ts";
import { createdRange, pageJson, pageRequest } from "../lists/cursorPaging.ts";
import { requireSender, requireSenderOf, scopeText } from "../server/authorization.ts";
import { type Caller, type ControllerOptions, operationController } from "../server/operationController.ts";
import { found, idOfPath, invalid, Problem } from "../server/problem.ts";
import { isAbandoned, requestContextOf } from "../server/requestContext.ts";
import { cancelEmails, canceledEmailsJson } from "./cancelEmails.ts";
import { sendBatch } from "./emailBatch.ts";
import { emailOperations, type ListEmailsQuery } from "./emailOperations.ts";
import { emailQuery, pageOfEmails } from "./emailPages.ts";
import {
  type EmailReceipt,
  emailJson,
  emailSummaryJson,
  receiptJson,
  rowSummaryJson,
} from "./emailResource.ts";
import { idempotencyKeyOf, trimmedKey } from "./idempotencyKey.ts";
import { mayReadContent, redactEmail } from "./redactEmail.ts";
import { requireSameRecipient, sendAgain } from "./sendAgain.ts";
import { hasTemplate } from "./sendEmailFaults.ts";
import { sendRequest } from "./sendEmailRequest.ts";
import type { SendEmailBody } from "./sendEmailSchema.ts";
import { sendProblem } from "./sendProblem.ts";

interface EmailsOptions extends ControllerOptions {
  /** Why a message waits; null when it has ended. */
  readonly readWaitingReason: (view: EmailView) => Promise<Waiting | null>;
}

/** Sending, reading back, listing and cancelling messages. */
export function emailsController(options: EmailsOptions) {
  return sending(options).use(acceptedEmails(options));
}

function sending({ deps, basePath }: EmailsOptions) {
  return operationController(deps, emailOperations, {
    sendEmail: async ({ body, request, caller, set }) =>
      accepted(basePath, set, await accept(deps, caller, body, idempotencyKeyOf(request.headers))),
    sendEmailAgain: async ({ params, body, request, caller, set }) => {
      const { principal, commandContext } = caller;
      const view = await existing(deps, principal, params.id);
      await requireSenderOf(deps, principal, view);
      const to = body.to ?? null;
      requireSameRecipient(principal, view, to);
      const again = { view, to, key: idempotencyKeyOf(request.headers) };
      const outcome = await sendAgain(deps, again, { request, commandContext });
      if (outcome.kind === "noContent") throw notToBeSentAgain(view);
      if (outcome.kind !== "accepted") throw sendProblem(outcome, deps.clock.now());
      return accepted(basePath, set, outcome);
    },
    sendEmailBatch: async ({ body, request, caller }) => {
      const bytes = contentLengthOf(request.headers) ?? Number.POSITIVE_INFINITY;
      const { requestId, refusedParts } = requestContextOf(request);
      return sendBatch(body.emails, {
        requestId,
        onRefused: (part) => void refusedParts.push(part),
        // Rendering a template may take many times as long as the rest of a send.
        async rest(one) {
          if (bytes > REST_ABOVE_BYTES || (isObject(one) && hasTemplate(one))) await Bun.sleep(0);
          if (isAbandoned(request)) throw new AbandonedError();
        },
        async send(one, idempotencyKey) {
          const { receipt } = await accept(deps, caller, one, idempotencyKey);
          return receiptJson(receipt) as Static<typeof EmailReceipt>;
        },
      });
    },
  });
}

/** The answer to a send that was accepted, now or before. */
function accepted(
  basePath: string,
  { headers }: Pick<Context["set"], "headers">,
  { receipt, replayed }: Extract<SendOutcome, { kind: "accepted" }>,
) {
  headers.location = `${basePath}/api/v1/emails/${receipt.id}`;
  if (replayed) headers["idempotent-replayed"] = "true";
  return receiptJson(receipt);
}

/** Why the content of a message is not there to be sent again. */
function notToBeSentAgain({ content }: EmailView): Problem {
  return content === null
    ? new Problem("NOT_FOUND", { detail: "The content of the message was erased" })
    : new Problem("ATTACHMENT_EXPIRED", { detail: "A file of the message is no longer kept" });
}

/** Accepts one message. Throws why it is not accepted. */
async function accept(
  deps: Dependencies,
  { principal, commandContext }: Caller,
  body: SendEmailBody,
  idempotencyKey: string,
) {
  const context = commandContext();
  requireSender(principal, body.from);
  const command = { workspaceId: context.workspaceId, idempotencyKey, context };
  const outcome = await sendEmail(deps, { ...sendRequest(body), ...command });
  if (outcome.kind !== "accepted") throw sendProblem(outcome, context.at);
  return outcome;
}

/** In a batch larger than this we yield to others between sends. */
const REST_ABOVE_BYTES = 1_000_000;

function acceptedEmails(options: EmailsOptions) {
  const { deps } = options;
  const now = async (principal: Principal, id: string) => {
    const view = await existing(deps, principal, id);
    return emailJson(redactEmail(view, principal), await options.readWaitingReason(view));
  };
  return operationController(deps, emailOperations, {
    listEmails: async ({ query, caller: { principal: owner } }) => {
      const wanted = queryOf(deps, owner, query);
      if (query.idempotency_key !== undefined || query.message_id !== undefined)
        return lookUpOne(deps, owner, query, wanted);
      await catchUpIfInTime(options.readModel("emails"));
      const whole = (view: EmailView) => emailSummaryJson(redactEmail(view, owner));
      const page = await pageOfEmails(options, wanted, { whole, unreadable: rowSummaryJson });
      return pageJson(page, (item) => item);
    },
    getEmail: async ({ params, query, caller: { principal } }) => {
      if (query.as_of === undefined) return now(principal, params.id);
      const at = epochMs(dateTime("/as_of", query.as_of));
      // What it waited for at that time is not known.
      const view = found(await readPastEmail(deps, principal, idOfPath(params.id), at));
      return emailJson(redactEmail(view, principal), null);
    },
    rescheduleEmail: async ({ params, body, caller: { principal, commandContext } }) => {
      const id = await reachable(deps, principal, params.id);
      const context = commandContext();
      const at = epochMs(dateTime("/scheduled_at", body.scheduled_at));
      const fault = scheduleFault(at, context.at);
      if (fault !== null) throw invalid("/scheduled_at", fault);
      const outcome = found(await rescheduleEmail(deps, id, at, context));
      if (outcome === "pastDeadline") throw invalid("/scheduled_at", PAST_DEADLINE);
      if (outcome === "notScheduled") throw tooLateToBe("rescheduled", await existing(deps, principal, id));
      return now(principal, id);
    },
    cancelEmail: async ({ params, caller: { principal, commandContext } }) => {
      const id = await reachable(deps, principal, params.id);
      const outcome = found(await cancelEmail(deps, id, commandContext()));
      if (outcome === "deliveryUnknown") throw new Problem("EMAIL_NOT_CANCELABLE", { detail: MAY_BE_SENT });
      if (outcome === "notCancelable") throw tooLateToBe("canceled", await existing(deps, principal, id));
      return now(principal, id);
    },
    cancelEmails: async ({ query, caller }) => {
      requireFilter(query, caller.principal);
      const wanted = queryOf(deps, caller.principal, query);
      return canceledEmailsJson(await cancelEmails(options, wanted, caller));
    },
    tryEmailNow: async ({ params, caller: { principal, commandContext } }) => {
      const id = await reachable(deps, principal, params.id);
      const isDue = await bringForward(deps, await existing(deps, principal, id), commandContext());
      const view = await existing(deps, principal, id);
      if (!isDue && isTerminal(view.email.status)) throw tooLateToBe("tried", view);
      return now(principal, id);
    },
    eraseEmailContent: async ({ params, caller: { principal, commandContext }, set }) => {
      const id = await reachable(deps, principal, params.id);
      const why = { reason: "requested" };
      const outcome = found(await eraseEmail(deps, id, why, commandContext()));
      if (outcome === "afterClaim") set.status = 202;
      return now(principal, id);
    },
  });
}

/** Throws unless there is a filter, so that nobody cancels everything for want of one, and the key may use it. */
function requireFilter({ limit: _, cursor: __, ...filters }: ListEmailsQuery, { scopes }: Principal): void {
  if (Object.keys(filters).length === 0) {
    const detail = "name at least one filter of the list of emails, such as template_version_id or status";
    throw new Problem("INVALID_REQUEST", { detail });
  }
  if (!permits(scopes, "email:status"))
    throw new Problem("FORBIDDEN", { detail: `to find messages needs ${scopeText("email:status")} too` });
}

const TOO_LATE_TO_BE = {
  canceled: "EMAIL_NOT_CANCELABLE",
  rescheduled: "EMAIL_NOT_SCHEDULED",
  tried: "EMAIL_NOT_SCHEDULED",
} as const;

const MAY_BE_SENT =
  "The relay may have the message already: the outcome of an attempt is not known. Erasing its content stops further " +
  "attempts";

function tooLateToBe(changed: keyof typeof TOO_LATE_TO_BE, { email }: EmailView): Problem {
  const detail = `The message can no longer be ${changed}: it is ${email.status}`;
  return new Problem(TOO_LATE_TO_BE[changed], { detail });
}

async function existing(deps: Dependencies, owner: MailOwner, id: string): Promise<EmailView> {
  return found(await readEmail(deps, owner, idOfPath(id)));
}

/** The id of a message that the key may cancel or erase. A key bound to senders only reaches their messages. */
async function reachable(deps: Dependencies, principal: Principal, id: string): Promise<string> {
  if (principal.senders !== null) {
    await requireSenderOf(deps, principal, await existing(deps, principal, id));
  }
  return idOfPath(id);
}

async function lookUpOne(
  deps: Dependencies,
  owner: Principal,
  { idempotency_key: key, message_id: messageId }: ListEmailsQuery,
  wanted: EmailQuery,
) {
  // No message has the Message-ID of another program.
  const id = messageId === undefined ? undefined : emailIdOfMessageId(messageId);
  const read = () => (id ? readEmail(deps, owner, id) : null);
  const view = await (key === undefined ? read() : readEmailByKey(deps, owner, trimmedKey(key)));
  const isFound = view !== null && (id === undefined || id === view.id) && isWanted(deps, wanted, view);
  return { data: isFound ? [emailSummaryJson(redactEmail(view, owner))] : [], next_cursor: null };
}

function hasAll(hashes: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((hash) => hashes.includes(hash));
}

function isWanted({ keys }: Dependencies, wanted: EmailQuery, view: EmailView): boolean {
  const { email, content } = view;
  const { createdFrom, createdBefore, tag, metadata = [] } = wanted;
  const acceptedAt = rfc3339(email.acceptedAt);
  if (createdFrom !== undefined && acceptedAt < createdFrom) return false;
  if (createdBefore !== undefined && acceptedAt >= createdBefore) return false;
  if (tag !== undefined && !content?.tags?.some((one) => keys.hashTag(wanted.ownerId, one) === tag))
    return false;
  if (metadata.length > 0 && !hasAll(metadataHashes(keys, wanted.ownerId, content?.metadata ?? {}), metadata))
    return false;
  if (wanted.statuses !== undefined && !wanted.statuses.includes(email.status)) return false;
  if (wanted.reasons !== undefined && !wanted.reasons.includes(email.reason ?? "")) return false;
  const own = { ...email, apiKeyId: sendingKeyId(view) };
  return ROW_FILTERS.every((name) => wanted[name] === undefined || wanted[name] === own[name]);
}

function queryOf(deps: Dependencies, principal: Principal, query: ListEmailsQuery): EmailQuery {
  const { tag, metadata, api_key_id: apiKeyId } = query;
  // Whoever may not see metadata must not find out by guessing.
  if (metadata !== undefined && !mayReadContent(principal))
    throw new Problem("FORBIDDEN", { detail: `the filter metadata needs ${scopeText("email:read")}` });
  const templates = {
    templateId: query.template_id?.toLowerCase(),
    templateVersionId: query.template_version_id?.toLowerCase(),
  };
  const addressOf = (name: "from" | "to") =>
    query[name] === undefined ? undefined : addressIn(`/${name}`, query[name]).canonical;
  const valuesOf = (name: "status" | "reason") =>
    query[name] === undefined ? undefined : [...new Set(query[name].split(","))];
  const lists = { statuses: valuesOf("status"), reasons: valuesOf("reason") };
  const addresses = { from: addressOf("from"), to: addressOf("to") };
  const filters = { ...lists, ...templates, ...addresses, apiKeyId, tag, metadata };
  return { ...emailQuery(deps, principal, { ...filters, ...createdRange(query) }), ...pageRequest(query) };
}
