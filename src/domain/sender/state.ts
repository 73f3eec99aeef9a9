import { never } from "../../kernel/assert.ts";
import type { Decider } from "../../kernel/decider.ts";
import type { SenderEvent } from "./events.ts";

export interface Sender {
  readonly workspaceId: string;
  readonly address: string;
  readonly displayName: string | null;
  readonly verified: boolean;
  readonly disabled: boolean;
}

/** `null` when the address was never added. */
export type SenderState = Sender | null;

function evolveExisting(state: Sender, event: Exclude<SenderEvent, { type: "SenderAdded" }>): Sender {
  switch (event.type) {
    case "SenderVerified":
      return { ...state, verified: true };
    case "SenderDisabled":
      return { ...state, disabled: true };
    case "SenderEnabled":
      return { ...state, disabled: false };
    default:
      return never(event);
  }
}

function evolve(state: SenderState, event: SenderEvent): SenderState {
  if (event.type !== "SenderAdded") return state === null ? null : evolveExisting(state, event);
  const { workspaceId, address, displayName = null } = event.data;
  return { workspaceId, address, displayName, verified: false, disabled: false };
}

export const senderDecider: Decider<SenderState, SenderEvent> = { initialState: null, evolve };

/** Whether mail may leave from this address. */
export function canSend(sender: SenderState): sender is Sender {
  return sender?.verified === true && !sender.disabled;
}
