import type { RequestedAttachment } from "../../commands/email/send/resolveAttachments.ts";
import type { ValidatedSend } from "../../commands/email/send/validatedSend.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import { parseAddress } from "../../kernel/text/emailAddress.ts";
import { type EpochMs, epochMs } from "../../kernel/time.ts";
import { refusedFor } from "../server/problem.ts";
import {
  type DigestedAttachments,
  digestedAttachments,
  idempotentContent,
  unlessEmpty,
} from "./idempotentContent.ts";
import { memberFaults, sendFaults } from "./sendEmailFaults.ts";
import type { SendEmailBody } from "./sendEmailSchema.ts";

/**
 * Checks the rules that span members, and returns the request ready for the command. Whoever sends the same files to
 * several recipients gives their digests.
 */
export function sendRequest(
  body: SendEmailBody,
  digested?: DigestedAttachments,
): Omit<ValidatedSend, "workspaceId" | "idempotencyKey" | "context"> {
  const from = parseAddress(body.from);
  const to = parseAddress(body.to);
  const replyTo = body.reply_to === undefined ? null : parseAddress(body.reply_to);
  const isAddressed = !("invalid" in from || "invalid" in to || (replyTo !== null && "invalid" in replyTo));
  if (!isAddressed || memberFaults(body).length > 0) throw refusedFor("INVALID_REQUEST", sendFaults(body));
  return {
    comparable: idempotentContent(body, digested ?? digestedAttachments(body)),
    from,
    to,
    content: {
      from: from.sent,
      to: to.sent,
      ...(replyTo ? { replyTo: replyTo.sent } : {}),
      ...textsOf(body),
    },
    ...omitUndefined({
      scheduledAt: timeOf(body.scheduled_at),
      deliverBefore: timeOf(body.deliver_before),
      contentRetention: body.content_retention,
    }),
    autoText: body.auto_text ?? false,
    template: templateOf(body),
    attachments: (body.attachments ?? []).map(requestedAttachment),
  };
}

function templateOf(body: SendEmailBody): ValidatedSend["template"] {
  const { template_id: id, template_alias: alias, template_version_id: version } = body;
  const versionId = version?.toLowerCase() ?? null;
  if (alias !== undefined) return { alias, versionId };
  return id === undefined ? null : { id: id.toLowerCase(), versionId };
}

function timeOf(text: string | undefined): EpochMs | undefined {
  return text === undefined ? undefined : epochMs(text);
}

/** The content without the addresses. An empty value equals an absent one. */
function textsOf({ subject = "", html, text, headers, tags, variables, metadata, ...names }: SendEmailBody) {
  return omitUndefined({
    fromName: names.from_name,
    toName: names.to_name,
    replyToName: names.reply_to_name,
    subject,
    headers: unlessEmpty(headers),
    html: html || undefined,
    text: text || undefined,
    variables,
    metadata,
    tags: unlessEmpty(tags),
  });
}

type Attachment = NonNullable<SendEmailBody["attachments"]>[number];

function requestedAttachment(attachment: Attachment): RequestedAttachment {
  if (typeof attachment === "string") return { kind: "upload", id: attachment.toLowerCase() };
  const { filename, content_type: contentType, content, content_id: contentId } = attachment;
  const named = contentId === undefined ? {} : { contentId };
  return { kind: "direct", filename, contentType, content, ...named };
}
