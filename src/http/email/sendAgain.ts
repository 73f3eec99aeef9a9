import type { Principal } from "../../commands/apiKey/authenticate.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { openAttachments } from "../../commands/email/content/storedContent.ts";
import { type EmailView, folderOf, readEmailState } from "../../commands/email/readEmail.ts";
import { sendEmail } from "../../commands/email/send/sendEmail.ts";
import type { SendOutcome } from "../../commands/email/send/sendOutcome.ts";
import { ownerOf } from "../../commands/email/send/validatedSend.ts";
import { UNTIL_FINAL_STATUS } from "../../domain/email/events.ts";
import { emailId, replayOf, requestFingerprint } from "../../domain/email/idempotency.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import { parseAddress } from "../../kernel/text/emailAddress.ts";
import type { JsonObject } from "../../kernel/text/json.ts";
import { Problem } from "../server/problem.ts";
import { withRoomFor } from "../server/requestContext.ts";
import { mayReadContent } from "./redactEmail.ts";
import { sendRequest } from "./sendEmailRequest.ts";
import type { SendEmailBody } from "./sendEmailSchema.ts";

interface SendAgain {
  readonly view: EmailView;
  /** Null: to the same recipient. */
  readonly to: string | null;
  /** The caller's key, or the form's nonce: the same one twice sends one message. */
  readonly key: string;
}

interface AskedBy {
  readonly request: Request;
  readonly commandContext: () => WorkspaceCommandContext;
}

/** The outcome. `noContent`: the content, or one of its files, is gone. */
export type SendAgainOutcome = SendOutcome | { readonly kind: "noContent" };

/**
 * Sends a message's content as a new message, whose Idempotency-Key names the old one: `again:<id>:<key>`. It passes every
 * check of a send: sender, suppression, limits, pause. A repeat is answered as the first time, even if the old content is
 * gone by then. Throws a `Problem` if the recipient is not an address, or there is no memory for it now.
 */
export function sendAgain(
  deps: Dependencies,
  { view, to, key }: SendAgain,
  { request, commandContext }: AskedBy,
): Promise<SendAgainOutcome> {
  const context = commandContext();
  const { workspaceId } = context;
  const idempotencyKey = `again:${view.id}:${key}`;
  return withRoomFor(request, fileBytesOf(view), async () => {
    const body = await bodyOf(deps, view, to);
    // Not the content: whoever may not read it could guess it, and learn by a send with this key whether it is that.
    const comparable = { again: view.id, recipient: recipientOf(deps, view, to) };
    if (body !== null) {
      const again = { id: view.id, template: templateOf(view) };
      const send = { ...sendRequest(body), comparable, workspaceId, idempotencyKey, context, again };
      return sendEmail(deps, send);
    }
    const id = emailId(ownerOf({ workspaceId, context }), idempotencyKey);
    return (await replayWithoutContent(deps, { id, workspaceId, comparable })) ?? { kind: "noContent" };
  });
}

/** What the content was made from. It goes out as it was rendered then. */
function templateOf({ email: { templateId: id, templateVersionId: versionId } }: EmailView) {
  return id === null || versionId === null ? null : { id, versionId };
}

/** The keyed hash of the address that the message goes to. */
function recipientOf({ keys }: Dependencies, { email }: EmailView, to: string | null): string {
  const address = to === null ? null : parseAddress(to);
  if (address === null || "invalid" in address) return email.recipientHash;
  return keys.hashAddress(email.workspaceId, address.canonical);
}

interface Repeat {
  /** Of the message that the first request made, if this is a repeat. */
  readonly id: string;
  readonly workspaceId: string;
  readonly comparable: JsonObject;
}

/** The answer to a repeat whose content is gone by now; null if it is no repeat. */
async function replayWithoutContent(
  { store, keys }: Dependencies,
  { id, workspaceId, comparable }: Repeat,
): Promise<SendAgainOutcome | null> {
  const sent = await readEmailState(store, id);
  if (sent === null) return null;
  // Only a durable message counts as accepted.
  await store.flush();
  return replayOf(id, sent, requestFingerprint(keys, workspaceId, comparable));
}

/** Throws if the key may not read the content, and would have it sent to somebody else, who could be its holder. */
export function requireSameRecipient(
  principal: Pick<Principal, "scopes">,
  { content }: EmailView,
  to: string | null,
): void {
  if (to === null || content === null || isRecipient(to, content) || mayReadContent(principal)) return;
  const detail = "sending a message again to another recipient needs the scope email:read too";
  throw new Problem("FORBIDDEN", { detail });
}

function isRecipient(to: string, content: { readonly to: string }): boolean {
  return to.toLowerCase() === content.to.toLowerCase();
}

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
  const isSameRecipient = to === null || isRecipient(to, content);
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
