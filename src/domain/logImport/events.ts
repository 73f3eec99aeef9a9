import { Type } from "@sinclair/typebox";
import { type EventOf, makeCodec } from "../../kernel/event/codec.ts";

const schemas = {
  /** A log is being imported into this store: until it is all there, nobody may work on it. */
  LogImportStarted: Type.Object({ exportId: Type.String(), copyId: Type.String() }),
  LogImportFinished: Type.Object({ events: Type.Integer() }),
};

/** The case names are the storage format. */
export type LogImportEvent = EventOf<typeof schemas>;
export const logImportCodec = makeCodec(schemas);
