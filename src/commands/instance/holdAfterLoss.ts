import { loseEvents } from "../../domain/instance/decisions.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { newId } from "../../kernel/ids.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { instanceAggregate } from "../aggregateDefinitions.ts";
import { newestEventAt } from "../audit/auditSealer.ts";
import { transact } from "../transact.ts";

/**
 * Holds what is unfinished in a log that has lost its newest events, as after a restore: it may have been sent since.
 * `incarnation`: which one of the log lacks them. Does nothing if another instance was first. Throws `StoreError`.
 */
export async function holdAfterLoss(
  store: EventStore,
  incarnation: string,
  context: CommandContext,
): Promise<"held" | "notHeld"> {
  const { at } = context;
  const takenAt = Math.min(at, (await newestEventAt(store)) ?? at);
  const loss = { copyId: newId(), incarnation, takenAt, at };
  return transact(store, instanceAggregate, (state) => loseEvents(state, loss), context);
}
