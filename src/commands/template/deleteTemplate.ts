import { deleteTemplate as decideDeletion } from "../../domain/template/decisions.ts";
import { type TemplateEvent, templateCodec, templateStream } from "../../domain/template/events.ts";
import { type TemplateState, templateDecider } from "../../domain/template/state.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { type ErasedEvents, toErasedEvents } from "../../kernel/event/erasedEventHashes.ts";
import { rfc3339 } from "../../kernel/time.ts";
import { type EventStore, requireStoreError } from "../../ports/eventStore.ts";
import { ConflictRetry } from "../conflictRetry.ts";
import type { Dependencies } from "../dependencies.ts";
import { queueStreamWrite } from "../streamWriteQueue.ts";
import { streamPages, toNewEvents } from "../transact.ts";

const DELETED = "TemplateDeleted" satisfies TemplateEvent["type"];
/** Events that one read returns: one event may be a quarter of a megabyte long. */
const PAGE_EVENTS = 50;

/**
 * Deletes a template of the context's workspace with its versions: their sources are no longer stored or counted.
 * Messages accepted with it keep their content. Throws `StoreError`.
 */
export function deleteTemplate(
  deps: Pick<Dependencies, "store" | "templates">,
  id: string,
  context: WorkspaceCommandContext,
): Promise<"deleted" | "notFound"> {
  const { store } = deps;
  const { workspaceId } = context;
  const stream = templateStream(id);
  return queueStreamWrite(store, stream, async () => {
    const retry = new ConflictRetry(stream);
    for (;;) {
      const { state, revision, leaves } = await readWhole(store, stream);
      const data = { workspaceId, at: rfc3339(context.at), erased: leaves };
      const { outcome, events } = decideDeletion(state, data);
      if (events.length === 0) {
        await store.flush();
        return outcome;
      }
      const result = await store.append(stream, toNewEvents(events, context), revision);
      if (result.outcome === "appended") {
        deps.templates.forget(id);
        // The template is gone from the append on. If this fails, a reactor does it later.
        await store.truncateBefore(stream, result.revision).catch(requireStoreError);
        return outcome;
      }
      await retry.lost();
    }
  });
}

async function readWhole(store: EventStore, stream: string) {
  let state: TemplateState = templateDecider.initialState;
  let revision = -1;
  let leaves: ErasedEvents = [];
  for await (const page of streamPages(store, stream, 0, PAGE_EVENTS)) {
    for (const event of page) state = templateDecider.evolve(state, templateCodec.decode(event));
    // An earlier deletion under the same alias names all events before it, truncated or not.
    const from = page.findLastIndex(({ type }) => type === DELETED);
    leaves = [...(from < 0 ? leaves : []), ...toErasedEvents(page.slice(Math.max(0, from)))];
    revision = page.at(-1)?.revision ?? revision;
  }
  return { state, revision, leaves };
}
