import { recordSentByOperator as decide } from "../../domain/email/decisions.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { emailAggregate } from "../aggregateDefinitions.ts";
import { transact } from "../transact.ts";

/** Records that a message was sent, on the operator's word. A repeat changes nothing. Throws `StoreError`. */
export function recordSentByOperator(store: EventStore, id: string, context: WorkspaceCommandContext) {
  return transact(store, emailAggregate.of(id), decide, context);
}
