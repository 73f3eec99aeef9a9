import { deadlineFault } from "../../../domain/email/delivery/deliverBefore.ts";
import type { EmailContent } from "../../../domain/email/events.ts";
import { scheduleFault } from "../../../domain/email/scheduledTime.ts";
import type { SenderFault } from "../../../domain/sender/state.ts";
import { mailOwnerId } from "../../../kernel/liveOrTestOwner.ts";
import { SECOND_MS } from "../../../kernel/time.ts";
import type { Dependencies } from "../../dependencies.ts";
import { type AuthorizingSender, authorizingSender } from "../../sender/authorizingSender.ts";
import { CONTENT_QUOTA_USED_UP } from "../../storage/contentQuota.ts";
import { type RequestedTemplate, renderForSend } from "../../template/renderForSend.ts";
import { TemplateRateError } from "../../template/templateAllowances.ts";
import { NO_AUTO_TEXT, withAutoText } from "../content/autoText.ts";
import { type AttachmentsOutcome, resolveAttachments } from "./resolveAttachments.ts";
import type { SendRefusal } from "./sendOutcome.ts";
import { ownerOf, type Prepared, refused, type ValidatedSend } from "./validatedSend.ts";

const CONTENT_EXCEEDED: SendRefusal = {
  ...refused("STORAGE_LIMIT_EXCEEDED"),
  detail: CONTENT_QUOTA_USED_UP,
};

const TOO_MANY_AUTO_TEXTS: SendRefusal = {
  ...refused("RATE_LIMITED"),
  detail: "too many texts are being made of the workspace's html: send less with auto_text at once",
  retryAfterMs: SECOND_MS,
};

/** What a sender lacks, and what to do about it. Senders of other workspaces count as unknown. */
const SENDER_FAULTS: Readonly<Record<SenderFault, string>> = {
  unknown:
    "is not a sending address of this workspace: add it or its domain (POST /api/v1/senders), then verify it",
  unverified:
    "is not verified yet: ask for its link (POST /api/v1/senders/{id}/verification) and open that, or have the operator verify it",
  disabled: "is disabled: enable it again (POST /api/v1/senders/{id}/enable)",
  domainUnverified:
    "is of a domain that is not verified yet: publish its dns_record, then ask to look for it (POST /api/v1/senders/{id}/verification)",
  domainDisabled: "is of a domain that is disabled: enable it again (POST /api/v1/senders/{id}/enable)",
};

const NO_FILES: AttachmentsOutcome = { kind: "resolved", attachments: [] };

/** All checks that depend on state but reserve nothing. The first fault in this order is the answer. */
export async function prepareSend(deps: Dependencies, send: ValidatedSend): Promise<Prepared | SendRefusal> {
  try {
    return await checkedInOrder(deps, send);
  } catch (error) {
    if (!(error instanceof TemplateRateError)) throw error;
    const { message: detail, retryAfterMs } = error;
    return { ...refused("RATE_LIMITED"), detail, retryAfterMs };
  }
}

async function checkedInOrder(deps: Dependencies, send: ValidatedSend): Promise<Prepared | SendRefusal> {
  const { workspaceId } = send;
  // The clock is state too: checked here, it never refuses the retry of a message that went long ago.
  const timeFaults = timeFaultsOf(send);
  if (timeFaults.length > 0) return refused("INVALID_REQUEST", timeFaults);
  const sender = await authorizingSender(deps, workspaceId, send.from);
  if (typeof sender === "string") {
    const faults = [{ pointer: "/from", message: SENDER_FAULTS[sender] }];
    return { ...refused("SENDER_UNAVAILABLE", faults), senderFault: sender };
  }
  const { state: workspace } = await deps.workspaces.loaded(workspaceId);
  if (workspace?.paused) return refused("SENDING_PAUSED");
  const rendered =
    send.template === null
      ? { kind: "rendered" as const, content: send.content, template: send.again?.template ?? null }
      : await renderedContent(deps, send, send.template);
  if (rendered.kind === "refused") return rendered;
  const read = send.autoText ? await withAutoText(deps, rendered.content, send.context) : rendered;
  if (read.kind === "unreadable") return refused("INVALID_REQUEST", [NO_AUTO_TEXT]);
  if (read.kind === "tooMany") return TOO_MANY_AUTO_TEXTS;
  const { content } = read;
  const files =
    send.attachments.length === 0 ? NO_FILES : await resolveAttachments(deps, workspaceId, send.attachments);
  if (files.kind === "refused") {
    return refused(files.code, [{ pointer: files.pointer, message: files.message }]);
  }
  const contentBytesMax = workspace?.limits.contentBytes ?? deps.limitsDefault.contentBytes;
  if (deps.contentQuota.isUsedUp(mailOwnerId(ownerOf(send)), contentBytesMax)) return CONTENT_EXCEEDED;
  return {
    kind: "prepared",
    sender,
    content: namedContent(sender, content),
    template: rendered.template,
    resolved: files.attachments,
  };
}

/** What is wrong with the times of a send, by the clock. A deadline is judged by a scheduled time that can be. */
function timeFaultsOf({ scheduledAt, deliverBefore, context }: ValidatedSend): SendRefusal["faults"] {
  const early = scheduledAt === undefined ? null : scheduleFault(scheduledAt, context.at);
  if (early !== null) return [{ pointer: "/scheduled_at", message: early }];
  const late = deliverBefore === undefined ? null : deadlineFault(deliverBefore, scheduledAt, context.at);
  return late === null ? [] : [{ pointer: "/deliver_before", message: late }];
}

/** The content with the sender's display name, unless the request gives one. */
export function namedContent({ displayName }: AuthorizingSender, content: EmailContent): EmailContent {
  return displayName === null ? content : { fromName: displayName, ...content };
}

interface Rendered {
  readonly kind: "rendered";
  readonly content: EmailContent;
  readonly template: Prepared["template"];
}

async function renderedContent(
  deps: Dependencies,
  { content, context }: ValidatedSend,
  template: RequestedTemplate,
): Promise<Rendered | SendRefusal> {
  const { variables = {} } = content;
  const outcome = await renderForSend(deps, { owner: context, template, variables });
  if (outcome.kind === "unavailable") return refused("TEMPLATE_UNAVAILABLE", [outcome.fault]);
  if (outcome.kind === "invalidData") return refused("INVALID_TEMPLATE_DATA", outcome.faults);
  const { html: _html, text: _text, ...rest } = content;
  const { kind: _kind, template: used, ...output } = outcome;
  return { kind: "rendered", content: { ...rest, ...output }, template: used };
}
