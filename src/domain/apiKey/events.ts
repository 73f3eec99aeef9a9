import { Type } from "@sinclair/typebox";
import { createCodec, type EventOf } from "../../kernel/event/eventCodec.ts";

const schemas = {
  ApiKeyIssued: Type.Object({
    workspaceId: Type.String(),
    name: Type.String(),
    /** A keyed hash of the whole key; the key itself is not stored. */
    hash: Type.String(),
    scopes: Type.Array(Type.String()),
    expiresAt: Type.Optional(Type.String()),
    /** The key that issued it; absent if the operator did. */
    issuerId: Type.Optional(Type.String()),
    /** The key that it replaces. */
    rotatedFrom: Type.Optional(Type.String()),
    /** The addresses and domains that it may send from, in lower case; absent: all of the workspace. */
    senders: Type.Optional(Type.Array(Type.String())),
    /** Where it may be used from, in CIDR notation; absent: from everywhere. */
    clientRanges: Type.Optional(Type.Array(Type.String())),
    /** A test key: its mail never leaves. */
    test: Type.Optional(Type.Literal(true)),
    /** Who logs in with it, in lower case; nobody knows its secret. Absent: whoever has the secret. */
    person: Type.Optional(Type.String()),
  }),
  ApiKeyRenamed: Type.Object({ name: Type.String() }),
  /** Another key replaces it; it expires at `expiresAt`. */
  ApiKeyRotated: Type.Object({ newKeyId: Type.String(), expiresAt: Type.String() }),
  ApiKeyRevoked: Type.Object({}),
};

/** The names of the types are the storage format. */
export type ApiKeyEvent = EventOf<typeof schemas>;
export const apiKeyCodec = createCodec(schemas);

export function apiKeyStream(id: string): string {
  return `apikey-${id}`;
}
