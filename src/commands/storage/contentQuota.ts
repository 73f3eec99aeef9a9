import { LRUCache } from "lru-cache";
import { SECOND_MS } from "../../kernel/time.ts";
import type { ContentBytesUsed } from "../../ports/contentBytesUsed.ts";
import type { LimitWatch } from "../quota/limitWatch.ts";

export const CONTENT_QUOTA_USED_UP =
  "the workspace's quota for the content of messages and the sources of templates (content_bytes) is used up; test mail has its own";

/** How long to add to a count before asking the read models again. */
const AGE_MS_MAX = SECOND_MS;
const OWNERS_MAX = 10_000;

/**
 * Each mail owner's quota for the content of messages and, for a workspace's own id, the sources of templates. Counts what
 * the read models know, plus what this instance has stored since it asked them. What other instances store counts a
 * moment later.
 */
export interface ContentQuota {
  /** Whether the mail owner has no room left. Content that crosses the limit is still accepted. */
  isUsedUp(ownerId: string, limitBytes: number): boolean;
  /** The bytes that the mail owner uses, as far as this instance knows. */
  used(ownerId: string): number;
  /** Counts content that was just stored. */
  add(ownerId: string, bytes: number): void;
}

interface Count {
  bytes: number;
  /** By the monotonic clock. */
  readonly freshUntil: number;
}

/** `limitWatch` is told of each look at what is used. */
export function contentQuota(usage: ContentBytesUsed, limitWatch: Pick<LimitWatch, "note">): ContentQuota {
  const counts = new LRUCache<string, Count>({ max: OWNERS_MAX });

  const countOf = (ownerId: string): Count => {
    const now = performance.now();
    const known = counts.get(ownerId);
    if (known !== undefined && now < known.freshUntil) return known;
    const bytes = usage.bytesOf(ownerId) ?? known?.bytes ?? 0;
    const count = { bytes, freshUntil: now + AGE_MS_MAX };
    counts.set(ownerId, count);
    return count;
  };

  return {
    isUsedUp(ownerId, limitBytes) {
      const { bytes: used } = countOf(ownerId);
      const isUsedUp = used >= limitBytes;
      limitWatch.note({ limit: "content", ownerId, used, of: limitBytes, isUsedUp });
      return isUsedUp;
    },
    used: (ownerId) => countOf(ownerId).bytes,
    add(ownerId, bytes) {
      const count = counts.get(ownerId);
      if (count !== undefined) count.bytes += bytes;
    },
  };
}
