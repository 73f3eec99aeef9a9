import { Type } from "@sinclair/typebox";
import { type EventOf, makeCodec } from "../../kernel/codec.ts";

const schemas = {
  WorkspaceCreated: Type.Object({ name: Type.String() }),
  SendingPaused: Type.Object({ at: Type.String() }),
  SendingResumed: Type.Object({ at: Type.String() }),
};

/** The case names are the storage format. */
export type WorkspaceEvent = EventOf<typeof schemas>;
export const workspaceCodec = makeCodec(schemas);

export function workspaceStream(id: string): string {
  return `workspace-${id}`;
}
