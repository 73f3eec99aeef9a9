import { INSTANCE_STREAM } from "../../domain/instance/events.ts";
import type { ContentStore } from "../../ports/contentStore.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { InstanceMismatchError } from "./instanceMismatchError.ts";

function requireOwn(isOwn: boolean): void {
  if (isOwn) return;
  throw new InstanceMismatchError(
    "the content store holds the content of another log: set CONTENT_URL to a place of this log's own",
  );
}

/**
 * Refuses, before a log is begun, to begin it on another log's content. Whoever claims has begun its log before,
 * so we ask for the claim first and then for the log: of racing first starts none is refused.
 */
export async function requireUnboundContentStore(store: EventStore, content: ContentStore): Promise<void> {
  if ((await content.claimedBy()) === null) return;
  requireOwn((await store.lastRevision(INSTANCE_STREAM)) !== null);
}

/**
 * Makes the content store this log's for good. A sweep removes what this log does not name, so two logs on one
 * content store would remove each other's. Throws {@link InstanceMismatchError}.
 */
export async function bindContentStore(content: ContentStore, logId: string): Promise<void> {
  requireOwn(((await content.claimedBy()) ?? (await content.claim(logId))) === logId);
}
