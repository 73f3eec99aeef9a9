import { Type } from "@sinclair/typebox";
import { createCodec, type EventOf } from "../../kernel/event/eventCodec.ts";

/** The stream in which an import into this store is recorded. */
export const IMPORT_STREAM = "import";

/**
 * The placeholder for an erased or truncated event. An import writes it so that revisions match those of the original
 * log, and truncates it again at once. Some stores show it in the whole log until they are scavenged.
 */
export const EVENT_ERASED = "EventErased";

const schemas = {
  /** A log is being imported into this store. Nobody may work on it before it is complete. */
  LogImportStarted: Type.Object({ exportId: Type.String(), copyId: Type.String() }),
  LogImportFinished: Type.Object({ events: Type.Integer() }),
};

/** The names of the types are the storage format. */
export type LogImportEvent = EventOf<typeof schemas>;
export const logImportCodec = createCodec(schemas);
