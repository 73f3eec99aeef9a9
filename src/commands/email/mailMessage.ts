import type { EmailContent } from "../../domain/email/events.ts";
import { messageIdOf } from "../../domain/email/messageId.ts";
import { deliverFrom, type Email } from "../../domain/email/state.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import type { MailAttachment, MailMessage } from "../../ports/mail/mailTransport.ts";

/** Everything that goes into a message. */
export interface WholeContent extends EmailContent {
  readonly files: readonly MailAttachment[];
}

/** A message for a transport: the same at every attempt, and whenever somebody views it later. */
export function mailMessage(
  id: string,
  email: Pick<Email, "acceptedAt" | "scheduledAt">,
  content: WholeContent,
  returnPath?: string,
): MailMessage {
  const { from, fromName, to, toName, subject, replyTo, replyToName, html, text, files, headers } = content;
  return {
    id,
    messageId: messageIdOf(id, from),
    date: deliverFrom(email),
    from,
    to,
    subject,
    ...omitUndefined({ returnPath, fromName, toName, replyTo, replyToName, headers, html, text }),
    ...(files.length === 0 ? {} : { attachments: files }),
  };
}
