import { type Static, Type } from "@sinclair/typebox";
import { createCodec, type EventOf } from "../../kernel/event/eventCodec.ts";

/** What was found of a person and what happened to it: counts, and the ids of what stays. */
export const ErasureCounts = Type.Object({
  /** Messages whose content this request erased, and how many of those it canceled. */
  messagesErased: Type.Integer(),
  messagesCanceled: Type.Integer(),
  /** Messages whose content had been erased before. */
  messagesErasedBefore: Type.Integer(),
  /** Messages that had files, which were removed with their content. */
  messagesWithFiles: Type.Integer(),
  /** Messages that had been written to an outbox. */
  outboxMessages: Type.Integer(),
  /** Uploads that were sent to nobody else: they are deleted and their names erased. */
  uploadsErased: Type.Integer(),
  /** Uploads that were also sent to others. */
  uploadsKept: Type.Array(Type.String()),
  /** 1 if the address of a suppression was erased, else 0. */
  suppressionsErased: Type.Integer(),
});
export type ErasureCounts = Static<typeof ErasureCounts>;

const CopyTaken = Type.Object({
  kind: Type.Union([Type.Literal("backup"), Type.Literal("export")]),
  at: Type.String(),
  /** Its path on the machine that took it; absent if nobody knows. */
  place: Type.Optional(Type.String()),
});
/** A copy of the log that was taken before a request was completed. */
export type CopyTaken = Static<typeof CopyTaken>;

const schemas = {
  /** Requests the erasure of everything about a person in a workspace up to this event's position in the log. */
  ErasureRequested: Type.Object({
    workspaceId: Type.String(),
    /** The keyed hash of the person's address; the address itself is not stored. */
    recipientHash: Type.String(),
    /** What the operator files the request under, such as a ticket number. */
    reference: Type.Optional(Type.String()),
  }),
  /** The service no longer shows anything of it. Only bytes on disks may remain. */
  ErasureApplied: Type.Object(ErasureCounts.properties),
  /** The disks were cleaned too, as far as possible. */
  ErasureCompleted: Type.Object({
    /** Where something may remain until the store's own tools run again, a sentence each. */
    remains: Type.Array(Type.String()),
    /** Copies of the log taken before, which no request reaches. */
    copies: Type.Optional(Type.Array(CopyTaken)),
  }),
};

/** The names of the types are the storage format. */
export type ErasureEvent = EventOf<typeof schemas>;
export const erasureCodec = createCodec(schemas);

export const ERASURE_STATUSES = ["requested", "applied", "completed"] as const;
export type ErasureStatus = (typeof ERASURE_STATUSES)[number];

export function erasureStream(id: string): string {
  return `erasure-${id}`;
}
