import { Type } from "@sinclair/typebox";
import { type EventOf, makeCodec } from "../../kernel/event/codec.ts";

const schemas = {
  ApiKeyIssued: Type.Object({
    workspaceId: Type.String(),
    name: Type.String(),
    /** A keyed hash of the whole key; the key itself is nowhere. */
    hash: Type.String(),
    scopes: Type.Array(Type.String()),
    expiresAt: Type.Optional(Type.String()),
    /** The key that issued it; absent of one that the operator has issued. */
    issuerId: Type.Optional(Type.String()),
    /** The key that it replaces. */
    rotatedFrom: Type.Optional(Type.String()),
    /** The addresses and domains that it may send from, in lower case; absent: all of the workspace. */
    senders: Type.Optional(Type.Array(Type.String())),
    /** Where it may be used from, in CIDR notation; absent: from everywhere. */
    clientRanges: Type.Optional(Type.Array(Type.String())),
    /** Its mail stays inside. */
    test: Type.Optional(Type.Literal(true)),
  }),
  /** Another key replaced it; it opens nothing from `expiresAt` on. */
  ApiKeyRotated: Type.Object({ newKeyId: Type.String(), expiresAt: Type.String() }),
  ApiKeyRevoked: Type.Object({}),
};

/** The case names are the storage format. */
export type ApiKeyEvent = EventOf<typeof schemas>;
export const apiKeyCodec = makeCodec(schemas);

export function apiKeyStream(id: string): string {
  return `apikey-${id}`;
}
