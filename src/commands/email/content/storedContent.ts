import {
  type EmailContent,
  type EmailEvent,
  IN_EVENT_CONTENT_BYTES_MAX,
} from "../../../domain/email/events.ts";
import { invariant } from "../../../kernel/assert.ts";
import { encodeData } from "../../../kernel/event/eventCodec.ts";
import { contentDigest } from "../../../kernel/event/eventHash.ts";
import type { ContentFolder, ContentStore } from "../../../ports/contentStore.ts";
import type { MailAttachment } from "../../../ports/mail/mailTransport.ts";
import type { ResolvedAttachment } from "../send/resolveAttachments.ts";

type Stored = Extract<EmailEvent, { type: "EmailContentStored" }>["data"];
type Attachments = NonNullable<EmailContent["attachments"]>;

/** The event that holds the content of a message, and what the acceptance event says about it. */
export interface PreparedContent {
  /** The data of EmailContentStored, compressed if that saves space. */
  readonly event: object;
  /** Null when the content is in the content store. */
  readonly salt: string | null;
  readonly digest: string;
  readonly bytes: number;
}

/** Prepares content for its event. Large content goes to the content store, durably, before the event is appended. */
export async function prepareContent(
  store: ContentStore,
  folder: ContentFolder,
  content: EmailContent,
): Promise<PreparedContent> {
  const json = JSON.stringify(content);
  const bytes = Buffer.byteLength(json);
  const salt = crypto.randomUUID();
  if (bytes <= IN_EVENT_CONTENT_BYTES_MAX) {
    const digest = contentDigest(salt, "content", json);
    return { event: encodeData({ salt, content }, bytes), salt, digest, bytes };
  }
  const reference = { sha256: await store.put(folder, Buffer.from(json)), bytes };
  // The digest of what the event holds, so verifying the log needs no content store.
  const digest = contentDigest(salt, "reference", JSON.stringify(reference));
  return { event: { salt, reference }, salt: null, digest, bytes };
}

/** The content as it was sent; null if it was erased. */
export async function openContent(
  store: ContentStore,
  folder: ContentFolder,
  stored: Stored | null,
): Promise<EmailContent | null> {
  if (stored?.content) return stored.content;
  if (!stored?.reference) return null;
  const bytes = await store.get(folder, stored.reference.sha256);
  return bytes === null ? null : (JSON.parse(new TextDecoder().decode(bytes)) as EmailContent);
}

/** Whether a message's files, or its content, are in the content store. */
export function isInContentStore({ content, reference }: Stored): boolean {
  return reference !== undefined || (content?.attachments ?? []).length > 0;
}

/**
 * Puts every file into the message's own folder, durably, because an upload may be deleted at any moment. Null if one of
 * the uploads is already gone.
 */
export async function keepAttachments(
  store: ContentStore,
  folder: ContentFolder,
  attachments: readonly ResolvedAttachment[],
): Promise<Attachments | null> {
  const kept: Attachments = [];
  for (const { filename, contentType, bytes, contentId, source } of attachments) {
    if (source.kind === "direct") {
      const named = contentId === undefined ? {} : { contentId };
      kept.push({ filename, contentType, bytes, sha256: await store.put(folder, source.content), ...named });
      continue;
    }
    const { id: uploadId, sha256 } = source;
    if (!(await store.link(source.folder, sha256, folder))) return null;
    kept.push({ filename, contentType, bytes, sha256, uploadId });
  }
  return kept;
}

/** The bytes of all files of a message, in order; null if any of them is gone. */
export async function openAttachments(
  store: ContentStore,
  folder: ContentFolder,
  attachments: Attachments,
): Promise<readonly MailAttachment[] | null> {
  const opened: MailAttachment[] = [];
  for (const { filename, contentType, sha256, bytes, contentId } of attachments) {
    const content = await store.get(folder, sha256);
    if (content === null) return null;
    invariant(content.byteLength === bytes, "a file is as long as its message says");
    opened.push({ filename, contentType, content, ...(contentId === undefined ? {} : { contentId }) });
  }
  return opened;
}
