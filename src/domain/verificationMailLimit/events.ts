import { Type } from "@sinclair/typebox";
import { type EventOf, makeCodec } from "../../kernel/event/codec.ts";

const schemas = {
  VerificationMailCounted: Type.Object({ at: Type.String() }),
};

/** The case names are the storage format. */
export type VerificationMailLimitEvent = EventOf<typeof schemas>;
export const verificationMailLimitCodec = makeCodec(schemas);

/** What one workspace may still ask for one address: `senderId` is the keyed hash of both. */
export function senderLimitStream(senderId: string): string {
  return `verificationallowance-sender-${senderId}`;
}

/** What one address may still get, whichever workspace asks: `addressHash` is its keyed hash without one. */
export function addressLimitStream(addressHash: string): string {
  return `verificationallowance-address-${addressHash}`;
}

/** What one workspace may still ask for on one UTC day, `YYYY-MM-DD`. */
export function workspaceLimitStream(workspaceId: string, day: string): string {
  return `verificationallowance-workspace-${workspaceId}-${day}`;
}
