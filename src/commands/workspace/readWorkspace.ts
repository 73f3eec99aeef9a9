import { workspaceStream } from "../../domain/workspace/events.ts";
import { idOfStream } from "../../kernel/event/idOfStream.ts";
import { isUuid } from "../../kernel/ids.ts";
import { type EventStore, LOG_START } from "../../ports/eventStore.ts";
import { workspaceAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadAllOfKind } from "../loadAllOfKind.ts";
import { load, writtenFirstAt } from "../transact.ts";

/** A workspace, from its stream, with the time of its creation; null if there is none. */
export async function readWorkspace(deps: Dependencies, id: string) {
  const known = await deps.workspaces.loaded(id);
  const { state } = await load(deps.store, workspaceAggregate.of(id), known);
  if (state === null) return null;
  return { workspace: state, createdAt: await writtenFirstAt(deps.store, workspaceStream(id)) };
}

/** A workspace to choose from. */
export interface NamedWorkspace {
  readonly id: string;
  readonly name: string;
}

/** How many workspaces are offered to choose from; the others are left out. */
const NAMED_MAX = 50;

/** The workspaces of a log to choose from, at most {@link NAMED_MAX}. */
export async function firstWorkspaces(store: EventStore): Promise<readonly NamedWorkspace[]> {
  const ids: string[] = [];
  for await (const { events } of store.readAll(LOG_START, { types: ["WorkspaceCreated"] })) {
    ids.push(...events.map(({ stream }) => idOfStream(stream)));
    if (ids.length >= NAMED_MAX) break;
  }
  return Array.fromAsync(ids.slice(0, NAMED_MAX), async (id) => {
    const { state } = await load(store, workspaceAggregate.of(id));
    return { id, name: state?.name ?? "" };
  });
}

/**
 * The workspace with this id, or else those with this name, at most {@link NAMED_MAX}, for which it reads the log. A
 * text in the form of an id is never a name.
 */
export async function workspacesCalled(store: EventStore, text: string): Promise<readonly NamedWorkspace[]> {
  if (isUuid(text)) {
    const id = text.toLowerCase();
    const { state } = await load(store, workspaceAggregate.of(id));
    return state === null ? [] : [{ id, name: state.name }];
  }
  const all = await loadAllOfKind(store, workspaceAggregate);
  const called = [...all].filter(([, { name }]) => name === text);
  return called.slice(0, NAMED_MAX).map(([id, { name }]) => ({ id, name }));
}
