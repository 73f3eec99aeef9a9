import { ACCEPTANCE_REVISION, emailStream } from "../../domain/email/events.ts";
import { storageStream } from "../../domain/storage/events.ts";
import { templateStream } from "../../domain/template/events.ts";
import { type ErasedLeaf, erasedLeaves } from "../../kernel/eventLeaf.ts";
import type { RecordedEvent } from "../../ports/eventStore.ts";

/** What an event lets go of in its own stream. */
export interface LetGo {
  /** All revisions below this one; 0: none. */
  readonly below: number;
  /** Single revisions, with the leaves of what was there. */
  readonly erased: readonly ErasedLeaf[];
}

const STORAGE = storageStream("");
/** Streams that hold what is a person's. Elsewhere no event can say of another that it may be gone. */
const PERSONAL = [emailStream(""), "attachment-", "suppression-"];
const TEMPLATE = templateStream("");
const NOTHING: LetGo = { below: 0, erased: [] };

/**
 * What the log may lack once it holds this event: what erasure takes away, what the storage ledger cuts off, and
 * templates that were deleted.
 */
export function letGoBy(event: RecordedEvent): LetGo {
  const { stream, revision, type } = event;
  // A count says once more all that is held; what came before is needed no more.
  if (stream.startsWith(STORAGE))
    return type === "StorageCounted" ? { below: revision, erased: [] } : NOTHING;
  if (stream.startsWith(TEMPLATE))
    return type === "TemplateDeleted" ? { below: 0, erased: erasedLeaves(event) } : NOTHING;
  if (!PERSONAL.some((prefix) => stream.startsWith(prefix))) return NOTHING;
  const isContent = type === "EmailContentErased" && stream.startsWith(emailStream(""));
  return { below: isContent ? ACCEPTANCE_REVISION : 0, erased: erasedLeaves(event) };
}

/** Whether leaves of this stream are lost with their events: of the storage ledger nobody keeps them. */
export function losesLeaves(stream: string): boolean {
  return stream.startsWith(STORAGE);
}
