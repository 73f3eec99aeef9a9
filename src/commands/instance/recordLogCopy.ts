import { copyInstance } from "../../domain/instance/decisions.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { instanceAggregate } from "../aggregateDefinitions.ts";
import { transact } from "../transact.ts";

/** Records that a copy of the log is about to be written to `place`. Erasure reports list it. */
export function recordLogCopy(
  store: EventStore,
  copy: { readonly kind: "backup" | "export"; readonly place: string },
  context: CommandContext,
) {
  return transact(
    store,
    instanceAggregate,
    (state) => copyInstance(state, { ...copy, at: context.at }),
    context,
  );
}
