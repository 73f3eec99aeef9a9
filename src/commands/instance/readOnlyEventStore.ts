import { POSTLEDGER } from "../../kernel/text/commandName.ts";
import { type EventStore, StoreError } from "../../ports/eventStore.ts";

/** The log as a command sees it that finds it frozen: it can be read, and nothing can be written that would be lost. */
export function readOnlyEventStore(store: EventStore): EventStore {
  const refuse = async () => {
    throw new StoreError(
      "unavailable",
      `the log is frozen: it goes on where it was imported; \`${POSTLEDGER} log unfreeze\` lets it go on here`,
    );
  };
  return Object.assign(Object.create(store) as EventStore, { append: refuse, truncateBefore: refuse });
}
