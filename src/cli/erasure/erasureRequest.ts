import { requestPersonErasure } from "../../commands/erasure/erasureRequests.ts";
import { parseAddress } from "../../kernel/text/emailAddress.ts";
import { type EventStore, LOG_START } from "../../ports/eventStore.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { type Command, type Option, UsageError } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";
import { existingWorkspace } from "../workspace/workspaceOption.ts";

const WORKSPACE: Option = {
  name: "workspace",
  value: "<id>",
  help: "id of the one workspace to erase in (default: every workspace, for which the log is read)",
};

/** The workspace that was named, or all of them. */
async function workspacesOf(store: EventStore, named: string | undefined): Promise<readonly string[]> {
  if (named !== undefined) return [await existingWorkspace(store, named)];
  const ids: string[] = [];
  for await (const { events } of store.readAll(LOG_START, { types: ["WorkspaceCreated"] })) {
    ids.push(...events.map(({ stream }) => stream.slice("workspace-".length)));
  }
  return ids;
}

export const erasureRequest: Command = {
  name: "erasure request",
  operands: [{ name: "address", help: "the person's email address" }],
  summary: "Ask that everything sent to a person be erased",
  description:
    "Prints the id of a request for each workspace. The running service does the work, or the next one that starts; `erasure show` shows what became of it.",
  examples: [
    "postledger erasure request ana@example.com",
    "postledger erasure request ana@example.com --workspace <id> # In one workspace alone",
  ],
  options: [WORKSPACE],
  async run({ config, operand, option, print }) {
    const address = parseAddress(operand("address"));
    if ("invalid" in address) throw new UsageError(`the address ${address.invalid}`);
    const requests = await withLog(config, async ({ deps }) => {
      const made: { id: string; workspace: string }[] = [];
      for (const workspaceId of await workspacesOf(deps.store, option("workspace"))) {
        const context = { ...systemCommandContext("cli"), workspaceId };
        made.push({ id: await requestPersonErasure(deps, address, context), workspace: workspaceId });
      }
      return made;
    });
    print(
      requests,
      requests.map(({ id, workspace }) => `${id}  workspace ${workspace}`),
    );
    return 0;
  },
};
