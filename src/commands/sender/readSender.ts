import { type SenderEvent, senderCodec, senderStream } from "../../domain/sender/events.ts";
import { type Sender, type SenderState, senderDecider } from "../../domain/sender/state.ts";
import type { Dependencies } from "../dependencies.ts";
import { streamPages } from "../transact.ts";

/** The events after which a sender reads otherwise. */
const CHANGES: ReadonlySet<SenderEvent["type"]> = new Set<SenderEvent["type"]>([
  "SenderAdded",
  "SenderDomainAdded",
  "SenderRenamed",
  "SenderVerified",
  "SenderDisabled",
  "SenderEnabled",
]);

/** A sender with all that is known of it; times are RFC 3339. */
export interface SenderView {
  readonly id: string;
  readonly sender: Sender;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** One sender of the workspace by its stream; null when there is none, also when it is another's. */
export async function readSender(
  { store }: Pick<Dependencies, "store">,
  workspaceId: string,
  id: string,
): Promise<SenderView | null> {
  let sender: SenderState = senderDecider.initialState;
  let createdAt = "";
  let updatedAt = "";
  for await (const page of streamPages(store, senderStream(id))) {
    for (const recorded of page) {
      const event = senderCodec.decode(recorded);
      sender = senderDecider.evolve(sender, event);
      if (CHANGES.has(event.type)) updatedAt = String(recorded.metadata.at);
      createdAt ||= updatedAt;
    }
  }
  return sender?.workspaceId === workspaceId ? { id, sender, createdAt, updatedAt } : null;
}
