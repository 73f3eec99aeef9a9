import { sha256Of } from "../../kernel/crypto/sha256.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import type { JsonObject } from "../../kernel/text/json.ts";
import type { SendEmailBody } from "./sendEmailSchema.ts";

type Attachment = NonNullable<SendEmailBody["attachments"]>[number];

/** Attachments as retries are compared: direct files with the digests of their text. */
export type DigestedAttachments = readonly Attachment[];

/** The attachments of a send with the files' text replaced by its digest. */
export function digestedAttachments({
  attachments = [],
}: Pick<SendEmailBody, "attachments">): DigestedAttachments {
  return attachments.map((attachment) =>
    typeof attachment === "string" ? attachment : { ...attachment, content: sha256Of(attachment.content) },
  );
}

/**
 * What a retry is compared with: the request as sent, with direct files replaced by digests of their text. An empty value
 * equals an absent one, and the letter case of a template's ids is none of their content.
 */
export function idempotentContent(
  { attachments: _, auto_text: autoText, html, text, ...given }: SendEmailBody,
  digested: DigestedAttachments,
): JsonObject {
  return omitUndefined({
    ...given,
    html: html || undefined,
    text: text || undefined,
    headers: unlessEmpty(given.headers),
    tags: unlessEmpty(given.tags),
    variables: unlessEmpty(given.variables),
    metadata: unlessEmpty(given.metadata),
    auto_text: autoText || undefined,
    template_id: given.template_id?.toLowerCase(),
    template_version_id: given.template_version_id?.toLowerCase(),
    attachments: unlessEmpty(digested),
  }) as unknown as JsonObject;
}

/** An empty object or list equals an absent one. */
export function unlessEmpty<Value extends object>(value: Value | undefined): Value | undefined {
  return value !== undefined && Object.keys(value).length > 0 ? value : undefined;
}
