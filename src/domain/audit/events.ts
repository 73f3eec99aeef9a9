import { Type } from "@sinclair/typebox";
import { createCodec, type EventOf, orNull } from "../../kernel/event/eventCodec.ts";

const schemas = {
  /**
   * The events of the log, in its order, from where the previous seal ended. It holds no positions, because an import
   * changes them. Seals and store-local events are not covered; each seal names the hash of the previous one.
   */
  LogSealed: Type.Object({
    at: Type.String(),
    /** The event hash of the previous seal; null in the first. */
    previous: orNull(Type.String()),
    /** How many events all seals up to this one cover. */
    covered: Type.Integer({ minimum: 1 }),
    /** The streams of the covered events, each once. */
    streams: Type.Array(Type.String()),
    /** For each covered event the index of its stream in `streams`. */
    order: Type.Array(Type.Integer({ minimum: 0 })),
    /** For each covered event its revision. */
    revisions: Type.Array(Type.Integer({ minimum: 0 })),
    /** The hashes of the covered events, 32 bytes each, concatenated, in Base64. */
    leaves: Type.String(),
    /** The 32 bytes of the Ed25519 key that signed, in Base64; absent if the seal is not signed. */
    publicKey: Type.Optional(Type.String()),
    /** Over all the other members, as canonical JSON. */
    signature: Type.Optional(Type.String()),
  }),
};

/** The names of the types are the storage format. */
type AuditEvent = EventOf<typeof schemas>;
export type Seal = Extract<AuditEvent, { type: "LogSealed" }>["data"];
export const auditCodec = createCodec(schemas);

/** One stream for the whole log: seals are appended by expected revision, so they form one chain. */
export const AUDIT_STREAM = "audit";
