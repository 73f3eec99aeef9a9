import { senderCodec } from "../../domain/sender/events.ts";
import { type Sender, type SenderState, senderDecider, senderStatus } from "../../domain/sender/state.ts";
import { type EventStore, LOG_START } from "../../ports/eventStore.ts";
import type { Command } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";
import { WORKSPACE_OPTION, workspaceOf } from "../workspace/workspaceOption.ts";

/** The senders of a workspace by id, folded while the log is read once. */
async function sendersInLog(store: EventStore, workspaceId: string): Promise<ReadonlyMap<string, Sender>> {
  const senders = new Map<string, SenderState>();
  for await (const { events } of store.readAll(LOG_START, { types: senderCodec.types })) {
    for (const recorded of events) {
      const id = recorded.stream.slice("sender-".length);
      senders.set(id, senderDecider.evolve(senders.get(id) ?? null, senderCodec.decode(recorded)));
    }
  }
  return new Map(
    [...senders].flatMap(([id, sender]) =>
      sender?.workspaceId === workspaceId ? [[id, sender] as const] : [],
    ),
  );
}

function listed(id: string, sender: Sender) {
  const { kind, name, displayName, verifiedBy } = sender;
  return { id, kind, name, display_name: displayName, status: senderStatus(sender), verified_by: verifiedBy };
}

function senderLine({ status, name, display_name: displayName }: ReturnType<typeof listed>): string {
  return `${status.padEnd("unverified".length)}  ${name}${displayName === null ? "" : `  "${displayName}"`}`;
}

export const senderList: Command = {
  name: "sender list",
  summary: "List the addresses and domains that a workspace sends from",
  description: "Reads the log from its start.",
  examples: ["postledger sender list --workspace <id>"],
  options: [WORKSPACE_OPTION],
  async run(invocation) {
    const senders = await withLog(invocation.config, async ({ deps: { store } }) =>
      sendersInLog(store, await workspaceOf(store, invocation)),
    );
    const rows = [...senders].map(([id, sender]) => listed(id, sender));
    invocation.print(rows, rows.map(senderLine));
    return 0;
  },
};
