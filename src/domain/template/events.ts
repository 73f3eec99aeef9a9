import { Type } from "@sinclair/typebox";
import { ErasedEvents } from "../../kernel/event/erasedEventHashes.ts";
import { createCodec, type EventOf, orNull } from "../../kernel/event/eventCodec.ts";
import { VariableDefinition } from "./variables.ts";

const schemas = {
  TemplateCreated: Type.Object({
    workspaceId: Type.String(),
    name: Type.String(),
    /** What callers name it by, for its life. Absent: they name it by its id alone. */
    alias: Type.Optional(Type.String()),
    at: Type.String(),
  }),
  TemplateRenamed: Type.Object({ name: Type.String(), at: Type.String() }),
  /** Holds a whole version, which never changes after this. */
  TemplateVersionDrafted: Type.Object({
    versionId: Type.String(),
    /** From 1, without gaps. */
    number: Type.Integer({ minimum: 1 }),
    subject: Type.String(),
    html: orNull(Type.String()),
    text: orNull(Type.String()),
    variables: Type.Array(VariableDefinition),
    /** The size of the four members above as JSON. */
    bytes: Type.Integer({ minimum: 0 }),
    at: Type.String(),
  }),
  /** The version is the current one from here on. */
  TemplateVersionPublished: Type.Object({ versionId: Type.String(), at: Type.String() }),
  TemplateArchived: Type.Object({ at: Type.String() }),
  /**
   * Nothing else is left of the template: all earlier events are truncated. `erased` has their hashes. If it had an alias,
   * another one may be created after this.
   */
  TemplateDeleted: Type.Object({ workspaceId: Type.String(), at: Type.String(), erased: ErasedEvents }),
};

/** The names of the types are the storage format. */
export type TemplateEvent = EventOf<typeof schemas>;
export const templateCodec = createCodec(schemas);

export function templateStream(id: string): string {
  return `template-${id}`;
}
