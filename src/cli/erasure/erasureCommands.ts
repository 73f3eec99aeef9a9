import { readErasure, requestPersonErasure } from "../../commands/erasure/erasureRequests.ts";
import { erasureCodec, erasureId } from "../../domain/erasure/events.ts";
import { workspaceStream } from "../../domain/workspace/events.ts";
import { isUuid } from "../../kernel/ids.ts";
import { parseAddress } from "../../kernel/text/emailAddress.ts";
import { type EventStore, LOG_START } from "../../ports/eventStore.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { type Command, notFound, type Option, UsageError } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";

const WORKSPACE: Option = {
  name: "workspace",
  value: "<id>",
  help: "id of the one workspace to erase in (default: every workspace, for which the log is read)",
};

/** The workspace that was named, or all of them. */
async function workspacesOf(store: EventStore, named: string | undefined): Promise<readonly string[]> {
  if (named !== undefined) {
    const isThere = isUuid(named) && (await store.lastRevision(workspaceStream(named))) !== null;
    if (!isThere) notFound(`there is no workspace ${named}`);
    return [named];
  }
  const ids: string[] = [];
  for await (const { events } of store.readAll(LOG_START, { types: ["WorkspaceCreated"] })) {
    ids.push(...events.map(({ stream }) => stream.slice("workspace-".length)));
  }
  return ids;
}

const request: Command = {
  name: "erasure request",
  operands: [{ name: "address", help: "the person's email address" }],
  summary: "Ask that everything sent to a person be erased",
  description:
    "Prints the id of a request for each workspace. The running service does the work, or the next one that starts; `erasure show` tells what became of it.",
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

const show: Command = {
  name: "erasure show",
  operands: [{ name: "id", help: "id that `erasure request` printed" }],
  summary: "Show what became of a request",
  description:
    "What was erased, what remains, and which copies of the log still hold it. Exit status 1 while it is not completed.",
  examples: ["postledger erasure show <id>"],
  async run({ config, operand, print }) {
    const id = operand("id");
    const view = await withLog(config, ({ deps }) => readErasure(deps.store, id));
    if (view === null) notFound(`there is no request ${id}`);
    const { erasure, requestedAt, completedAt } = view;
    const { status, workspaceId, counts, remains, copies } = erasure;
    const lines = [
      `${status}  requested ${requestedAt}  completed ${completedAt ?? "-"}  workspace ${workspaceId}`,
      ...Object.entries(counts ?? {}).map(([name, value]) => `${name}  ${value}`),
      ...(remains ?? []).map((one) => `remains  ${one}`),
      ...(copies ?? []).map(({ kind, at, place }) =>
        `not reached  ${kind} of ${at}  ${place ?? ""}`.trimEnd(),
      ),
    ];
    print({ id, status, workspaceId, requestedAt, completedAt, ...counts, remains, copies }, lines);
    return status === "completed" ? 0 : 1;
  },
};

const list: Command = {
  name: "erasure list",
  summary: "List all requests",
  description: "Reads the log from its start.",
  examples: ["postledger erasure list"],
  async run({ config, print }) {
    const rows = await withLog(config, async ({ deps: { store } }) => {
      const statuses = new Map<string, string>();
      for await (const { events } of store.readAll(LOG_START, { types: erasureCodec.types })) {
        for (const { stream, type } of events) {
          statuses.set(erasureId(stream), type.slice("Erasure".length).toLowerCase());
        }
      }
      return [...statuses].map(([id, status]) => ({ id, status }));
    });
    print(
      rows,
      rows.map(({ id, status }) => `${id}  ${status}`),
    );
    return 0;
  },
};

export const erasureCommands: readonly Command[] = [request, show, list];
