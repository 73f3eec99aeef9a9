import { type AttachmentEvent, attachmentCodec } from "../../domain/attachment/events.ts";
import { type EmailContent, type EmailEvent, emailCodec } from "../../domain/email/events.ts";
import { isFolderName } from "../../kernel/contentPath.ts";
import { readableEvent } from "../../kernel/event/eventCodec.ts";
import { idOfStream } from "../../kernel/event/idOfStream.ts";
import type { ContentFolder } from "../../ports/contentStore.ts";
import type { RecordedEvent } from "../../ports/eventStore.ts";
import { isInContentStore } from "../email/content/storedContent.ts";

export const CONTENT_NAMING_TYPES: readonly string[] = [
  "EmailContentStored" satisfies EmailEvent["type"],
  "AttachmentUploaded" satisfies AttachmentEvent["type"],
];

/** What an event names: a folder of the content store, and files in it. */
export interface NamedContent {
  readonly folder: ContentFolder;
  /** The files that the event itself names, by their SHA-256. */
  readonly files: readonly string[];
  /** The one among them that holds the message's content, which may name further files; null if the event holds it. */
  readonly content: string | null;
}

/** An event without its data. */
type EventHead = Pick<RecordedEvent, "stream" | "type" | "id" | "metadata">;

/** The folder of all content that an event may name; null if it names none. Reads no data, so it is cheap. */
export function contentFolderOf({ stream, type, id, metadata }: EventHead): ContentFolder | null {
  if (!CONTENT_NAMING_TYPES.includes(type)) return null;
  const ownerId = idOfStream(stream);
  const folderId = type === "EmailContentStored" ? id : ownerId;
  const folder = { workspaceId: String(metadata.workspaceId), ownerId, folderId };
  // Whoever changed the log may have put anything there.
  return Object.values(folder).every(isFolderName) ? folder : null;
}

/** The content that an event names; null if it names none, or cannot be read. */
export function contentNamedBy(event: RecordedEvent): NamedContent | null {
  const folder = contentFolderOf(event);
  if (folder === null) return null;
  if (event.type === "AttachmentUploaded") {
    const upload = readableEvent(attachmentCodec, event);
    return upload?.type === "AttachmentUploaded"
      ? { folder, files: [upload.data.sha256], content: null }
      : null;
  }
  const stored = readableEvent(emailCodec, event);
  if (stored?.type !== "EmailContentStored" || !isInContentStore(stored.data)) return null;
  const { content, reference } = stored.data;
  if (reference !== undefined) return { folder, files: [reference.sha256], content: reference.sha256 };
  return { folder, files: filesOf(content), content: null };
}

/** The files that a message's content names, by their SHA-256. */
export function filesOf(content: Pick<EmailContent, "attachments"> | undefined): readonly string[] {
  return (content?.attachments ?? []).map(({ sha256 }) => sha256);
}
