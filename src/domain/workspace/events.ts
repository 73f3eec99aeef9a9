import { type TSchema, Type } from "@sinclair/typebox";
import { type EventOf, makeCodec } from "../../kernel/event/codec.ts";

const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

const schemas = {
  WorkspaceCreated: Type.Object({ name: Type.String() }),
  SendingPaused: Type.Object({ at: Type.String() }),
  SendingResumed: Type.Object({ at: Type.String() }),
  /** Only the limits that change; null restores the instance's default. */
  LimitsChanged: Type.Partial(
    Type.Object({
      messagesPerDay: Nullable(Type.Integer()),
      storageBytes: Nullable(Type.Integer()),
      contentBytes: Nullable(Type.Integer()),
      keyRequestsPerSecond: Nullable(Type.Integer()),
      workspaceRequestsPerSecond: Nullable(Type.Integer()),
      attachmentRetentionHours: Nullable(Type.Integer()),
      contentRetentionDays: Nullable(Type.Integer()),
      archiveAttachments: Nullable(Type.Boolean()),
    }),
  ),
};

/** The names of the types are the storage format. */
export type WorkspaceEvent = EventOf<typeof schemas>;
export const workspaceCodec = makeCodec(schemas);

export function workspaceStream(id: string): string {
  return `workspace-${id}`;
}
