import { METADATA_INDEXED_MAX } from "../../domain/email/contentLimits.ts";
import type { EmailContent } from "../../domain/email/events.ts";
import type { InstanceKeys } from "../../kernel/crypto/instanceKeys.ts";

/**
 * The keyed hashes by which a mail owner's message is found by its metadata: those of its first
 * {@link METADATA_INDEXED_MAX} pairs.
 */
export function metadataHashes(
  keys: InstanceKeys,
  ownerId: string,
  metadata: NonNullable<EmailContent["metadata"]>,
): string[] {
  const pairs = Object.entries(metadata).slice(0, METADATA_INDEXED_MAX);
  return pairs.map(([name, value]) => keys.hashMetadata(ownerId, name, value));
}
