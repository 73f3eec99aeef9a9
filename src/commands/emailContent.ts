import type { EmailContent, EmailEvent } from "../domain/email/events.ts";
import { encodeData } from "../kernel/codec.ts";
import type { ContentOwner, ContentStore } from "../ports/contentStore.ts";

/** Content whose JSON is longer than this goes to the content store: one append is at most 1 MiB. */
const IN_EVENT_BYTES_MAX = 512 * 1_024;

type Stored = Extract<EmailEvent, { type: "EmailContentStored" }>["data"];

/** What an accepted message says about its content for good, and the event that holds it. */
export interface SealedContent {
  /** The data of EmailContentStored, compressed where that pays. */
  readonly event: object;
  /** Null when the content is in the content store. */
  readonly salt: string | null;
  readonly digest: string;
  readonly bytes: number;
}

function saltedDigest(salt: string, json: string): string {
  return new Bun.CryptoHasher("sha256").update(salt).update(json).digest("hex");
}

/** Puts content where it belongs, durably, before the event that refers to it. */
export async function sealContent(
  store: ContentStore,
  owner: ContentOwner,
  content: EmailContent,
): Promise<SealedContent> {
  const json = JSON.stringify(content);
  const bytes = Buffer.byteLength(json);
  const salt = crypto.randomUUID();
  const digest = saltedDigest(salt, json);
  if (bytes <= IN_EVENT_BYTES_MAX)
    return { event: encodeData({ salt, content }, bytes), salt, digest, bytes };
  const sha256 = await store.put(owner, Buffer.from(json));
  return { event: { salt, reference: { sha256, bytes } }, salt: null, digest, bytes };
}

/** The content as it was sent; null when it was erased. */
export async function openContent(
  store: ContentStore,
  owner: ContentOwner,
  stored: Stored | null,
): Promise<EmailContent | null> {
  if (stored?.content) return stored.content;
  if (!stored?.reference) return null;
  const bytes = await store.get(owner, stored.reference.sha256);
  return bytes === null ? null : (JSON.parse(new TextDecoder().decode(bytes)) as EmailContent);
}
