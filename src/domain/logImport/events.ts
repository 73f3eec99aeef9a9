import { Type } from "@sinclair/typebox";
import { type EventOf, makeCodec } from "../../kernel/event/eventCodec.ts";

const schemas = {
  /** A log is being imported into this store. Nobody may work on it before it is complete. */
  LogImportStarted: Type.Object({ exportId: Type.String(), copyId: Type.String() }),
  LogImportFinished: Type.Object({ events: Type.Integer() }),
};

/** The names of the types are the storage format. */
export type LogImportEvent = EventOf<typeof schemas>;
export const logImportCodec = makeCodec(schemas);
