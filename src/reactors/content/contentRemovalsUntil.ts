import { unlessAborted } from "../../kernel/concurrency/unlessAborted.ts";
import type { ContentStore } from "../../ports/contentStore.ts";

/**
 * A content store for background work: once `stopping` aborts, nothing waits for a removal that hangs, and each throws
 * the reason. Removals are repeated after the next start.
 */
export function contentRemovalsUntil(stopping: AbortSignal, content: ContentStore): ContentStore {
  const removals: Pick<ContentStore, "removeFile" | "removeOwner" | "removeFolder"> = {
    removeFile: (...given) => unlessAborted(stopping, content.removeFile(...given)),
    removeOwner: (...given) => unlessAborted(stopping, content.removeOwner(...given)),
    removeFolder: (...given) => unlessAborted(stopping, content.removeFolder(...given)),
  };
  return Object.assign(Object.create(content) as ContentStore, removals);
}
