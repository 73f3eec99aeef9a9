import { Type } from "@sinclair/typebox";
import { type EventOf, makeCodec } from "../../kernel/event/codec.ts";

const schemas = {
  /**
   * What the log held in the order in which it held it, from where the seal before ended. No position is in it: those
   * are other ones after an import. Seals and the store's own events are not covered; each seal covers the one before.
   */
  LogSealed: Type.Object({
    at: Type.String(),
    /** The leaf of the seal before; null in the first. */
    previous: Type.Union([Type.String(), Type.Null()]),
    /** Events that all seals up to this one cover. */
    covered: Type.Integer({ minimum: 1 }),
    /** The streams of the covered events, each once. */
    streams: Type.Array(Type.String()),
    /** For each covered event the index of its stream in `streams`. */
    order: Type.Array(Type.Integer({ minimum: 0 })),
    /** For each covered event its revision. */
    revisions: Type.Array(Type.Integer({ minimum: 0 })),
    /** The leaves of the covered events, 32 bytes each, one behind the other, in Base64. */
    leaves: Type.String(),
    /** The 32 bytes of the Ed25519 key that signed, in Base64; absent when nobody did. */
    publicKey: Type.Optional(Type.String()),
    /** Over all the other members, as canonical JSON. */
    signature: Type.Optional(Type.String()),
  }),
};

/** The case names are the storage format. */
export type AuditEvent = EventOf<typeof schemas>;
export type Seal = Extract<AuditEvent, { type: "LogSealed" }>["data"];
export const auditCodec = makeCodec(schemas);

/** One stream for the whole log: seals are appended by expected revision, so that they make one chain. */
export const AUDIT_STREAM = "audit";
