import { completeErasure, noteApplied, requestErasure } from "../../domain/erasure/decisions.ts";
import type { ErasureCounts, ErasureEvent } from "../../domain/erasure/events.ts";
import type { Erasure, ErasureState } from "../../domain/erasure/state.ts";
import type { CommandContext, WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { idOfStream } from "../../kernel/event/idOfStream.ts";
import { newId } from "../../kernel/ids.ts";
import type { Address } from "../../kernel/text/emailAddress.ts";
import { rfc3339 } from "../../kernel/time.ts";
import { type EventStore, LOG_START, type Position, type RecordedEvent } from "../../ports/eventStore.ts";
import { erasureAggregate, instanceAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { resourceChangeRateLimit } from "../resourceChangeRateLimit.ts";
import { load, transact } from "../transact.ts";

/** A request has three events at most. */
const EVENTS_MAX = 10;

/**
 * How many people callers may have erased in one workspace in a day. Each request searches all of the workspace's
 * messages, and many of them keep the requests of other workspaces waiting.
 */
const ERASURES_PER_DAY_MAX = 1_000;

/**
 * Requests the erasure of everything that the context's workspace now holds about a person. The event has only a keyed
 * hash of the address, and the reference that the request is filed under. Returns the request's id. Throws
 * `ChangeRateError` after too many requests.
 */
export async function requestPersonErasure(
  deps: Pick<Dependencies, "store" | "keys">,
  address: Address,
  context: WorkspaceCommandContext,
  reference: string | null = null,
): Promise<string> {
  const { workspaceId } = context;
  const id = newId();
  const recipientHash = deps.keys.hashAddress(workspaceId, address.canonical);
  const request = { workspaceId, recipientHash, ...(reference === null ? {} : { reference }) };
  const counted = `erasures of ${workspaceId}`;
  const rate = resourceChangeRateLimit(deps.store, counted, context, ERASURES_PER_DAY_MAX);
  rate.check();
  rate.count();
  await transact(deps.store, erasureAggregate.of(id), (state) => requestErasure(state, request), context);
  return id;
}

/** A request as its stream shows it. Times are RFC 3339. */
export interface ErasureView {
  readonly id: string;
  readonly erasure: Erasure;
  readonly requestedAt: string;
  readonly appliedAt: string | null;
  readonly completedAt: string | null;
  /** Where in the log the request is: what comes after it is not covered. */
  readonly position: Position;
}

/** A request; null if there is none. Throws `StoreError`. */
export async function readErasure(store: EventStore, id: string): Promise<ErasureView | null> {
  return viewOf(id, await store.read(erasureAggregate.of(id).stream, 0, EVENTS_MAX));
}

/** All requests, the oldest first, in one read of the log. Throws `StoreError`. */
export async function readErasures(store: EventStore): Promise<readonly ErasureView[]> {
  const found: RecordedEvent[] = [];
  for await (const { events } of store.readAll(LOG_START, { types: erasureAggregate.codec.types }))
    found.push(...events);
  const byStream = Map.groupBy(found, ({ stream }) => stream);
  return [...byStream]
    .map(([stream, events]) => viewOf(idOfStream(stream), events))
    .filter((view) => view !== null);
}

/** The request with these events, which are all of its stream; null without any. */
function viewOf(id: string, events: readonly RecordedEvent[]): ErasureView | null {
  const { decider, codec } = erasureAggregate;
  const erasure = events.reduce(
    (state, event) => decider.evolve(state, codec.decode(event)),
    decider.initialState,
  );
  const [requested] = events;
  if (erasure === null || requested === undefined) return null;
  const timeOf = (type: ErasureEvent["type"]) => {
    const event = events.find((one) => one.type === type);
    return event === undefined ? null : String(event.metadata.at);
  };
  return {
    id,
    erasure,
    requestedAt: String(requested.metadata.at),
    appliedAt: timeOf("ErasureApplied"),
    completedAt: timeOf("ErasureCompleted"),
    position: requested.position,
  };
}

/** Records that nothing about the person can be read any more, with the counts. The first instance to do so counts. */
export async function noteErasureApplied(
  store: EventStore,
  id: string,
  counts: ErasureCounts,
  context: CommandContext,
): Promise<void> {
  await transact(store, erasureAggregate.of(id), (state) => noteApplied(state, counts), context);
}

/** Completes a request, and records what may remain on disks and in copies of the log. */
export async function completePersonErasure(
  store: EventStore,
  id: string,
  remains: readonly string[],
  context: CommandContext,
): Promise<void> {
  const { state: instance } = await load(store, instanceAggregate);
  const copies = (instance?.copies ?? []).map(({ kind, at, place }) => {
    return { kind, at: rfc3339(at), ...(place === null ? {} : { place }) };
  });
  const decide = (state: ErasureState) => completeErasure(state, { remains, copies });
  await transact(store, erasureAggregate.of(id), decide, context);
}
