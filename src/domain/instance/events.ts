import { Type } from "@sinclair/typebox";
import { type EventOf, makeCodec } from "../../kernel/event/codec.ts";
import { LOG_FORMAT_RAISED } from "../../kernel/event/logFormat.ts";

const schemas = {
  InstanceCreated: Type.Object({
    logId: Type.String(),
    /** The instance's data key, encrypted with MASTER_KEY: opening it is the check of MASTER_KEY. */
    sealedDataKey: Type.String(),
    contentStoreId: Type.String(),
  }),
  MasterKeyRotated: Type.Object({ sealedDataKey: Type.String() }),
  /** From here on the log may hold events that only a program reads that reads this format. A new log is at 1. */
  [LOG_FORMAT_RAISED]: Type.Object({ format: Type.Integer({ minimum: 2 }) }),
  /** From here on no instance accepts or delivers anything: the log goes on where it is imported. */
  InstanceSealed: Type.Object({ at: Type.String() }),
  /** It goes on here after all. */
  InstanceUnsealed: Type.Object({ at: Type.String() }),
  /** What comes before was written elsewhere, or earlier: what is not done in it is held until InstanceResumed. */
  InstanceRestored: Type.Object({
    /** Names this copy of the log: what was made from another one, read models say, is made anew. */
    copyId: Type.String(),
    from: Type.Union([Type.Literal("import"), Type.Literal("backup")]),
    /** When the copy was taken. */
    takenAt: Type.String(),
    /** Whether the log that it was taken from had stopped: else it may have delivered since what is held here. */
    sealed: Type.Boolean(),
    at: Type.String(),
  }),
  /** A copy of the log is about to be taken: what is erased later stays in it. */
  InstanceCopied: Type.Object({
    at: Type.String(),
    kind: Type.Union([Type.Literal("backup"), Type.Literal("export")]),
    /** The path that it was written to, on the machine that took it. */
    place: Type.String(),
  }),
  /** The operator releases what is held. */
  InstanceResumed: Type.Object({ at: Type.String() }),
};

/** The case names are the storage format. */
export type InstanceEvent = EventOf<typeof schemas>;
export const instanceCodec = makeCodec(schemas);

/** The events that begin and end a hold on what was not done before. */
export const HOLD_EVENTS = [
  "InstanceRestored",
  "InstanceResumed",
] as const satisfies readonly InstanceEvent["type"][];

/** One stream for the whole log: its first append settles racing first starts. */
export const INSTANCE_STREAM = "instance";
