import { Type } from "@sinclair/typebox";
import { type EventOf, makeCodec } from "../../kernel/codec.ts";

const schemas = {
  ApiKeyIssued: Type.Object({
    workspaceId: Type.String(),
    name: Type.String(),
    /** A keyed hash of the whole key; the key itself is nowhere. */
    hash: Type.String(),
    scopes: Type.Array(Type.String()),
    expiresAt: Type.Optional(Type.String()),
  }),
  ApiKeyRevoked: Type.Object({}),
};

/** The case names are the storage format. */
export type ApiKeyEvent = EventOf<typeof schemas>;
export const apiKeyCodec = makeCodec(schemas);

export function apiKeyStream(id: string): string {
  return `apikey-${id}`;
}
