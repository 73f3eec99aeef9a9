import { projections } from "../../../projections/index.ts";
import { listReadModels } from "../../readModels/listReadModels.ts";
import type { Command } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";

export const projectionList: Command = {
  name: "projection list",
  summary: "List the read models with their state and rows",
  description: "Exit status 1 when one has failed.",
  examples: [
    "postledger projection list",
    "postledger projection list --json # With file, checkpoint and what is being built",
  ],
  async run(invocation) {
    const listing = await withLog(invocation.config, ({ deps, storage }) =>
      listReadModels({ ...storage, store: deps.store, projections }),
    );
    const lines = listing.map((model) => {
      const state = model.status === "current" && !model.isAtHead ? "behind" : model.status;
      return `${model.name}  v${model.version}  ${state}  ${model.rows ?? "?"} rows  ${model.failure ?? ""}`.trimEnd();
    });
    const listed = listing.map(({ isAtHead, ...model }) => ({ ...model, at_head: isAtHead }));
    invocation.print(listed, lines);
    return listing.some((model) => model.failure !== null) ? 1 : 0;
  },
};
