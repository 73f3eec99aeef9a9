import { copyInstance } from "../../domain/instance/decisions.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { instanceAggregate } from "../aggregateDefinitions.ts";
import { transact } from "../transact.ts";

/** A copy of the log that is about to be written. */
interface CopyBegun {
  readonly kind: "backup" | "export";
  readonly place: string;
  /** Whether it is kept up to date from then on. */
  readonly following?: boolean;
}

/** Records, before a copy of the log is written, where it goes. Erasure reports list it. */
export function recordBackupOrExport(store: EventStore, copy: CopyBegun, context: CommandContext) {
  const made = { ...copy, at: context.at };
  return transact(store, instanceAggregate, (state) => copyInstance(state, made), context);
}
