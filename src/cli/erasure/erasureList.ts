import { erasureCodec, erasureId } from "../../domain/erasure/events.ts";
import { LOG_START } from "../../ports/eventStore.ts";
import type { Command } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";

export const erasureList: Command = {
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
