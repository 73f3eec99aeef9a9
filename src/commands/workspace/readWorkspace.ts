import { workspaceStream } from "../../domain/workspace/events.ts";
import { workspaceAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { load, writtenFirstAt } from "../transact.ts";

/** A workspace by its stream, with the time of its creation; null when there is none. */
export async function readWorkspace(deps: Dependencies, id: string) {
  const known = await deps.workspaces.loaded(id);
  const { state } = await load(deps.store, workspaceAggregate.of(id), known);
  if (state === null) return null;
  return { workspace: state, createdAt: await writtenFirstAt(deps.store, workspaceStream(id)) };
}
