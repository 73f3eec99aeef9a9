import { workspaceCodec } from "../../domain/workspace/events.ts";
import { type WorkspaceState, workspaceDecider } from "../../domain/workspace/state.ts";
import { type EventStore, LOG_START } from "../../ports/eventStore.ts";
import type { Command } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";

/** Every workspace of the log by id, folded while the log is read once. */
async function allWorkspaces(store: EventStore): Promise<ReadonlyMap<string, WorkspaceState>> {
  const workspaces = new Map<string, WorkspaceState>();
  for await (const { events } of store.readAll(LOG_START, { types: workspaceCodec.types })) {
    for (const recorded of events) {
      const id = recorded.stream.slice("workspace-".length);
      const event = workspaceCodec.decode(recorded);
      workspaces.set(id, workspaceDecider.evolve(workspaces.get(id) ?? null, event));
    }
  }
  return workspaces;
}

export const workspaceList: Command = {
  name: "workspace list",
  summary: "List the workspaces with their ids",
  description: "Reads the log from its start.",
  examples: ["postledger workspace list"],
  async run(invocation) {
    const workspaces = await withLog(invocation.config, ({ deps }) => allWorkspaces(deps.store));
    const rows = [...workspaces].flatMap(([id, workspace]) =>
      workspace === null ? [] : [{ id, name: workspace.name, paused: workspace.paused }],
    );
    const lines = rows.map(({ id, name, paused }) => `${id}  ${paused ? "paused" : "active"}  ${name}`);
    invocation.print(rows, lines);
    return 0;
  },
};
