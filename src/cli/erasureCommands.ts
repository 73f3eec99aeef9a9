import { readErasure, requestPersonErasure } from "../commands/erasureRequests.ts";
import { erasureCodec, erasureId } from "../domain/erasure/events.ts";
import { workspaceStream } from "../domain/workspace/events.ts";
import { parseAddress } from "../kernel/address.ts";
import { isUuid } from "../kernel/ids.ts";
import { systemOccasion } from "../openParts.ts";
import { type EventStore, LOG_START } from "../ports/eventStore.ts";
import { type Command, type Option, UsageError } from "./command.ts";
import { withLog } from "./openForCommand.ts";

const WORKSPACE: Option = {
  name: "workspace",
  value: "<id>",
  help: "this workspace alone; without it every workspace, for which the log is read",
};

/** The workspace that was named, or all of them. */
async function workspacesOf(store: EventStore, named: string | undefined): Promise<readonly string[]> {
  if (named !== undefined) {
    const isThere = isUuid(named) && (await store.lastRevision(workspaceStream(named))) !== null;
    if (!isThere) throw new UsageError(`there is no workspace ${named}`);
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
  operands: "<address>",
  summary: "Ask that everything of a person be erased; the running service does it, or the next that starts",
  options: [WORKSPACE],
  async run({ config, args, option, print }) {
    const address = parseAddress(args[0] ?? "");
    if ("invalid" in address) throw new UsageError(`the address ${address.invalid}`);
    const requests = await withLog(config, async ({ services }) => {
      const made: { id: string; workspace: string }[] = [];
      for (const workspaceId of await workspacesOf(services.store, option("workspace"))) {
        const occasion = { ...systemOccasion("cli"), workspaceId };
        made.push({ id: await requestPersonErasure(services, address, occasion), workspace: workspaceId });
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
  operands: "<request id>",
  summary: "Print what became of a request; exit status 1 while it is not completed",
  async run({ config, args, print }) {
    const id = args[0] ?? "";
    const view = await withLog(config, ({ services }) => readErasure(services.store, id));
    if (view === null) throw new UsageError(`there is no request ${id}`);
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
  summary: "List all requests; reads the log from its start",
  async run({ config, print }) {
    const rows = await withLog(config, async ({ services: { store } }) => {
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
