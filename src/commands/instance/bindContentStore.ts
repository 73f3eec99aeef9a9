import type { ContentStore } from "../../ports/contentStore.ts";
import { InstanceMismatchError } from "./instanceMismatchError.ts";

function requireOwn(isOwn: boolean, hint = ""): void {
  if (isOwn) return;
  throw new InstanceMismatchError(
    `the content store holds the content of another log: set CONTENT_URL to a place of this log's own${hint}`,
  );
}

/**
 * Refuses to begin a new log on another log's content store. An instance begins its log before it claims the content
 * store. We look in the opposite order, claim first and then log, so none of several racing first starts is refused.
 */
export async function requireUnboundContentStore(
  content: ContentStore,
  hasLog: () => Promise<boolean>,
): Promise<void> {
  if ((await content.claimedBy()) === null) return;
  const hint = ". There is no log yet: if it was lost, restore a backup, or set STORE_URL to where it is";
  requireOwn(await hasLog(), hint);
}

/**
 * Claims the content store for this log for good. The sweeper removes content that this log does not refer to, so two
 * logs sharing a content store would delete each other's. Throws {@link InstanceMismatchError}.
 */
export async function bindContentStore(content: ContentStore, logId: string): Promise<void> {
  requireOwn(((await content.claimedBy()) ?? (await content.claim(logId))) === logId);
}
