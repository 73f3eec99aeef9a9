import { type SenderEvent, senderCodec, senderStream } from "../../domain/sender/events.ts";
import { type Sender, type SenderState, senderDecider } from "../../domain/sender/state.ts";
import type { Dependencies } from "../dependencies.ts";
import { streamPages } from "../transact.ts";

/** The events that count as an update of a sender. */
const CHANGES: ReadonlySet<SenderEvent["type"]> = new Set<SenderEvent["type"]>([
  "SenderAdded",
  "SenderDomainAdded",
  "SenderRenamed",
  "SenderVerified",
  "SenderDisabled",
  "SenderEnabled",
]);

/** A sender with its times (RFC 3339). */
export interface SenderView {
  readonly id: string;
  readonly sender: Sender;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** One sender of the workspace, from its stream; null if there is none, or if it is another workspace's. */
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
