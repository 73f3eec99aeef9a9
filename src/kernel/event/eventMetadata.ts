import { type Static, Type } from "@sinclair/typebox";
import type { CommandContext } from "./commandContext.ts";

/**
 * The metadata of every event. `schema` is the version of its type's data. `at` is the event's own time (RFC 3339),
 * because read models never use the store's clock. `correlationId` is the request's id, `causationId` the event that
 * led to this one.
 */
const EventMetadata = Type.Object({
  schema: Type.Integer({ minimum: 1 }),
  at: Type.String(),
  workspaceId: Type.Optional(Type.String()),
  correlationId: Type.String(),
  causationId: Type.Optional(Type.String()),
  actor: Type.String(),
});
type EventMetadata = Static<typeof EventMetadata>;

/** The metadata of an event of version 1 in this context. */
export function metadataOf(context: CommandContext): EventMetadata {
  const { at, correlationId, actor, workspaceId, causationId } = context;
  return {
    schema: 1,
    at: new Date(at).toISOString(),
    correlationId,
    actor,
    ...(workspaceId === undefined ? {} : { workspaceId }),
    ...(causationId === undefined ? {} : { causationId }),
  };
}
