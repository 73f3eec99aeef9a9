import { Type } from "@sinclair/typebox";
import { createCodec, type EventOf, orNull } from "../../kernel/event/eventCodec.ts";

const schemas = {
  WorkspaceCreated: Type.Object({ name: Type.String() }),
  WorkspaceRenamed: Type.Object({ name: Type.String() }),
  SendingPaused: Type.Object({
    at: Type.String(),
    /** The service paused it because of this rate; absent: somebody asked for it. */
    rate: Type.Optional(
      Type.Object({
        /** One of `RATE_KINDS`. */
        kind: Type.String(),
        /** Hard bounces or complaints among the messages sent since then. */
        reported: Type.Integer(),
        sent: Type.Integer(),
        since: Type.String(),
      }),
    ),
  }),
  SendingResumed: Type.Object({ at: Type.String() }),
  /** Only the limits that change; null restores the instance's default. */
  LimitsChanged: Type.Partial(
    Type.Object({
      messagesPerDay: orNull(Type.Integer()),
      storageBytes: orNull(Type.Integer()),
      contentBytes: orNull(Type.Integer()),
      keyRequestsPerSecond: orNull(Type.Integer()),
      workspaceRequestsPerSecond: orNull(Type.Integer()),
      attachmentRetentionHours: orNull(Type.Integer()),
      contentRetentionDays: orNull(Type.Integer()),
      archiveAttachments: orNull(Type.Boolean()),
    }),
  ),
};

/** The names of the types are the storage format. */
export type WorkspaceEvent = EventOf<typeof schemas>;
/** The rate because of which the service pauses a workspace. */
export type PauseRate = NonNullable<Extract<WorkspaceEvent, { type: "SendingPaused" }>["data"]["rate"]>;
export const workspaceCodec = createCodec(schemas);

export function workspaceStream(id: string): string {
  return `workspace-${id}`;
}
