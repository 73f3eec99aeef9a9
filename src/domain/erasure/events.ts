import { type Static, Type } from "@sinclair/typebox";
import { type EventOf, makeCodec } from "../../kernel/event/codec.ts";

/** What was found of a person, and what became of it. Counts, and ids of what stays. */
export const ErasureCounts = Type.Object({
  /** Messages whose content this request has erased, and those of them that it has canceled. */
  messagesErased: Type.Integer(),
  messagesCanceled: Type.Integer(),
  /** Messages whose content had been erased before. */
  messagesErasedBefore: Type.Integer(),
  /** Messages that had files, which went with their content. */
  messagesWithFiles: Type.Integer(),
  /** Messages that had been written to an outbox. */
  outboxMessages: Type.Integer(),
  /** Uploads that nobody else was sent: deleted, their names erased. */
  uploadsErased: Type.Integer(),
  /** Uploads that others were sent as well. */
  uploadsKept: Type.Array(Type.String()),
  /** Whether there was a suppression whose address was erased. */
  suppressionsErased: Type.Integer(),
});
export type ErasureCounts = Static<typeof ErasureCounts>;

const CopyTaken = Type.Object({
  kind: Type.Union([Type.Literal("backup"), Type.Literal("export")]),
  at: Type.String(),
  /** On the machine that took it; absent where nobody knows. */
  place: Type.Optional(Type.String()),
});
/** A copy of the log that was taken before a request was completed. */
export type CopyTaken = Static<typeof CopyTaken>;

const schemas = {
  /** Everything of a person in a workspace is to go that was there at this event's position in the log. */
  ErasureRequested: Type.Object({
    workspaceId: Type.String(),
    /** The person, by the keyed hash of the address: the address itself is written nowhere. */
    recipientHash: Type.String(),
  }),
  /** Nothing can be read of it through the service any more. What remains is bytes on disks. */
  ErasureApplied: Type.Object(ErasureCounts.properties),
  /** The disks were gone over too, as far as they could be. */
  ErasureCompleted: Type.Object({
    /** What may still hold something, a sentence each, that another run of the store's own tools takes away. */
    remains: Type.Array(Type.String()),
    /** Copies of the log that were taken before, which no request reaches. */
    copies: Type.Optional(Type.Array(CopyTaken)),
  }),
};

/** The case names are the storage format. */
export type ErasureEvent = EventOf<typeof schemas>;
export const erasureCodec = makeCodec(schemas);

/** The status of a request. */
export const ERASURE_STATUSES = ["requested", "applied", "completed"] as const;
export type ErasureStatus = (typeof ERASURE_STATUSES)[number];

const PREFIX = "erasure-";

/** The stream of one request. */
export function erasureStream(id: string): string {
  return PREFIX + id;
}

/** The inverse of {@link erasureStream}. */
export function erasureId(stream: string): string {
  return stream.slice(PREFIX.length);
}
