import type { Dependencies } from "../../../commands/dependencies.ts";
import { openAttachments } from "../../../commands/email/content/storedContent.ts";
import { type EmailView, folderOf } from "../../../commands/email/readEmail.ts";
import { sendEmail } from "../../../commands/email/send/sendEmail.ts";
import type { SendOutcome } from "../../../commands/email/send/sendOutcome.ts";
import { AT_END } from "../../../domain/email/contentErasure.ts";
import { UNTIL_FINAL_STATUS } from "../../../domain/email/events.ts";
import { omitUndefined } from "../../../kernel/omitUndefined.ts";
import { type SendEmailBody, sendRequest } from "../../email/sendEmailRequest.ts";
import { refusedFor } from "../../server/problem.ts";
import { withRoomFor } from "../../server/requestContext.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { SENDER_FAULTS } from "../sender/senderFaultAdvice.tsx";

/** A request to send an earlier message's content again. */
interface SendAgain {
  readonly view: EmailView;
  /** Null: to the same recipient. */
  readonly to: string | null;
  /** The form's nonce: the same form submitted twice sends one message. */
  readonly nonce: string;
}

/** The outcome. `noContent`: the content, or one of its files, is gone. */
type SendAgainOutcome = SendOutcome | { readonly kind: "noContent" };

/**
 * Sends a message's content as a new message, whose Idempotency-Key names the old one. It passes every check of a
 * send: sender, suppression, limits, pause. Throws a `Problem` if the recipient is not an address, or there is no
 * memory for it now.
 */
export function sendAgain(
  deps: Dependencies,
  { view, to, nonce }: SendAgain,
  context: PageContext,
): Promise<SendAgainOutcome> {
  const commandContext = context.commandContext();
  return withRoomFor(context.request, fileBytesOf(view), async () => {
    const body = await bodyOf(deps, view, to);
    if (body === null) return { kind: "noContent" };
    const { workspaceId } = commandContext;
    const idempotencyKey = `again:${view.id}:${nonce}`;
    return sendEmail(deps, { ...sendRequest(body), workspaceId, idempotencyKey, context: commandContext });
  });
}

/** Why a message cannot be sent again, as far as its history says; null if it can. */
export function whyNotAgain({ email, content }: EmailView): string | null {
  if (content === null) {
    const isAsked = email.erasedFor?.reason === AT_END;
    return `its content was erased${isAsked ? " when it had ended, as its send asked" : ""}`;
  }
  return email.attachmentsExpired ? "its files have expired" : null;
}

/** Why a message was not sent again, in words. */
export function refusalText(outcome: Exclude<SendAgainOutcome, { kind: "accepted" }>): string {
  switch (outcome.kind) {
    case "noContent":
      return "Its content was erased, or one of its files is gone.";
    case "conflict":
      return "The form was used already, for another recipient: load the page again.";
    case "refused":
      if (outcome.senderFault !== undefined)
        return `Its sender ${SENDER_FAULTS[outcome.senderFault]} under Senders.`;
      return `${outcome.detail ?? refusedFor(outcome.code, outcome.faults).message}.`;
  }
}

/** The total size of a message's files. */
export function fileBytesOf({ content }: EmailView): number {
  return (content?.attachments ?? []).reduce((sum, { bytes }) => sum + bytes, 0);
}

async function bodyOf(deps: Dependencies, view: EmailView, to: string | null): Promise<SendEmailBody | null> {
  const { content, email, id } = view;
  if (content === null) return null;
  const files = await openAttachments(deps.content, folderOf(id, email), content.attachments ?? []);
  if (files === null) return null;
  const { from, subject, headers, html, text, metadata, tags } = content;
  // A copy is kept no longer than its sender wanted. The deadline of the first message may be over.
  const contentRetention = email.isErasedAtEnd ? UNTIL_FINAL_STATUS : undefined;
  // The name belongs to the original recipient, so nobody else gets it.
  const isSameRecipient = to === null || to.toLowerCase() === content.to.toLowerCase();
  const attachments = files.map(({ filename, contentType, contentId, content: bytes }) =>
    omitUndefined({
      filename,
      content_type: contentType,
      content_id: contentId,
      content: Buffer.from(bytes).toString("base64"),
    }),
  );
  return omitUndefined({
    from,
    from_name: content.fromName,
    to: to ?? content.to,
    to_name: isSameRecipient ? content.toName : undefined,
    reply_to: content.replyTo,
    reply_to_name: content.replyToName,
    subject,
    ...{ headers, html, text, metadata, tags },
    content_retention: contentRetention,
    attachments: attachments.length === 0 ? undefined : attachments,
  });
}
