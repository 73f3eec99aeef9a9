import { Type } from "@sinclair/typebox";
import { type EventOf, makeCodec } from "../../kernel/codec.ts";

const schemas = {
  SenderAdded: Type.Object({
    workspaceId: Type.String(),
    address: Type.String(),
    displayName: Type.Optional(Type.String()),
  }),
  SenderVerified: Type.Object({ method: Type.String() }),
  SenderDisabled: Type.Object({}),
  SenderEnabled: Type.Object({}),
};

/** The case names are the storage format. */
export type SenderEvent = EventOf<typeof schemas>;
export const senderCodec = makeCodec(schemas);

/** `id` is the keyed hash of workspace and address: an address finds its sender without an index. */
export function senderStream(id: string): string {
  return `sender-${id}`;
}
