import { readErasure } from "../../commands/erasure/erasureRequests.ts";
import { type Command, notFound } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";

export const erasureShow: Command = {
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
