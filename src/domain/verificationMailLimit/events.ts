import { Type } from "@sinclair/typebox";
import { createCodec, type EventOf } from "../../kernel/event/eventCodec.ts";

const schemas = {
  VerificationMailCounted: Type.Object({ at: Type.String() }),
};

/** The names of the types are the storage format. */
export type VerificationMailLimitEvent = EventOf<typeof schemas>;
export const verificationMailLimitCodec = createCodec(schemas);

/** The limit of one workspace for one address: `senderId` is the keyed hash of both. */
export function senderLimitStream(senderId: string): string {
  return `verificationallowance-sender-${senderId}`;
}

/** The limit of one address over all workspaces: `addressHash` is its keyed hash without a workspace. */
export function addressLimitStream(addressHash: string): string {
  return `verificationallowance-address-${addressHash}`;
}

/** The limit of one workspace on one UTC day, `YYYY-MM-DD`. */
export function workspaceLimitStream(workspaceId: string, day: string): string {
  return `verificationallowance-workspace-${workspaceId}-${day}`;
}
