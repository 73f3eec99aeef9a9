import { eraseUpload } from "../../domain/attachment/decisions.ts";
import { type AttachmentEvent, attachmentCodec, attachmentStream } from "../../domain/attachment/events.ts";
import { type AttachmentState, attachmentDecider } from "../../domain/attachment/state.ts";
import {
  type SuppressionEvent,
  suppressionCodec,
  suppressionStream,
} from "../../domain/suppression/events.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { toErasedEvents } from "../../kernel/event/erasedEvents.ts";
import { type EventStore, type RecordedEvent, StoreError } from "../../ports/eventStore.ts";
import { deleteAttachment } from "../attachment/deleteAttachment.ts";
import { deleteUploadFiles } from "../attachment/deleteUploadFiles.ts";
import type { Dependencies } from "../dependencies.ts";
import { toNewEvents } from "../transact.ts";

/** Events that one event can replace: their leaves make some 300 kB. */
const CUT_EVENTS_MAX = 3_000;
const PAGE_EVENTS = 500;
/** How often a stream is looked at anew because it has moved, or because it is longer than one cut. */
const ROUNDS_MAX = 1_000;

/** The first events of a stream that can be read, at most {@link CUT_EVENTS_MAX}. */
async function readFirst(store: EventStore, stream: string): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  while (events.length < CUT_EVENTS_MAX) {
    const page = await store.read(stream, (events.at(-1)?.revision ?? -1) + 1, PAGE_EVENTS);
    events.push(...page);
    if (page.length < PAGE_EVENTS) break;
  }
  return events;
}

function tooBusy(stream: string): StoreError {
  return new StoreError("unavailable", `${stream} changed under ${ROUNDS_MAX} attempts to cut it off`);
}

/**
 * Deletes an upload, and releases its name and all else that earlier events say of it. False when it was another
 * request that did so, or there is no such upload in the workspace. Repeatable. Throws `StoreError`.
 */
export async function erasePersonsUpload(
  deps: Dependencies,
  id: string,
  erasureId: string,
  context: WorkspaceCommandContext,
): Promise<boolean> {
  const { store } = deps;
  const stream = attachmentStream(id);
  if ((await deleteAttachment(deps, id, context)) === "notFound") return false;
  await deleteUploadFiles(deps, id, context);
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const events = await readFirst(store, stream);
    const state = events.reduce<AttachmentState>(
      (known, event) => attachmentDecider.evolve(known, attachmentCodec.decode(event)),
      attachmentDecider.initialState,
    );
    const told = events.findLast(
      ({ type }) => type === ("AttachmentErased" satisfies AttachmentEvent["type"]),
    );
    if (told !== undefined) {
      await store.truncateBefore(stream, told.revision);
      return state?.erasureId === erasureId;
    }
    const { events: news } = eraseUpload(state, erasureId, toErasedEvents(events));
    const last = events.at(-1);
    if (news.length === 0 || last === undefined) return false;
    await store.append(stream, toNewEvents(news, context), last.revision);
  }
  throw tooBusy(stream);
}

/**
 * Erases the address and the note of a recipient's suppressions; whether the recipient is suppressed stays as it
 * is. Whether this request had something to erase. Repeatable. Throws `StoreError`.
 */
export async function erasePersonsSuppression(
  store: EventStore,
  recipientHash: string,
  erasureId: string,
  context: WorkspaceCommandContext,
): Promise<boolean> {
  const stream = suppressionStream(recipientHash);
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const events = await readFirst(store, stream);
    const last = events.findLast(({ type }) => type === "SuppressionAddressStored")?.revision;
    if (last === undefined) return events.some((event) => isOf(event, erasureId));
    const cut = events.filter(({ revision }) => revision <= last);
    if (!events.some((event) => namesErased(event, last))) {
      const cutsHistory = cut.some(({ type }) => type !== "SuppressionAddressStored");
      const { workspaceId } = context;
      const data = { workspaceId, recipientHash, cutsHistory, erasureId, erased: toErasedEvents(cut) };
      const event: SuppressionEvent = { type: "SuppressionAddressErased", data };
      const revision = await store.lastRevision(stream);
      const result = await store.append(stream, toNewEvents([event], context), revision ?? "noStream");
      // A new address that came meanwhile needs another look.
      if (result.outcome !== "appended") continue;
    }
    await store.truncateBefore(stream, last + 1);
  }
  throw tooBusy(stream);
}

function isOf(recorded: RecordedEvent, erasureId: string): boolean {
  const { type, data } = suppressionCodec.decode(recorded);
  return type === "SuppressionAddressErased" && data.erasureId === erasureId;
}

function namesErased(recorded: RecordedEvent, revision: number): boolean {
  const { type, data } = suppressionCodec.decode(recorded);
  return type === "SuppressionAddressErased" && data.erased.some((one) => one.revision === revision);
}
