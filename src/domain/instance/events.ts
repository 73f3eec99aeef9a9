import { Type } from "@sinclair/typebox";
import { createCodec, type EventOf } from "../../kernel/event/eventCodec.ts";
import { LOG_FORMAT_RAISED } from "../../kernel/event/logFormat.ts";

const schemas = {
  InstanceCreated: Type.Object({
    logId: Type.String(),
    /** The instance's data key, encrypted with MASTER_KEY: the key is right if it opens this. */
    sealedDataKey: Type.String(),
    contentStoreId: Type.String(),
  }),
  MasterKeyRotated: Type.Object({ sealedDataKey: Type.String() }),
  /** From here on, only a program that reads this format can read every event of the log. A new log is at 1. */
  [LOG_FORMAT_RAISED]: Type.Object({ format: Type.Integer({ minimum: 2 }) }),
  /** The log is frozen: no instance accepts or delivers anything. The log goes on where it is imported. */
  InstanceSealed: Type.Object({ at: Type.String() }),
  /** The freeze is over: the log goes on here after all. */
  InstanceUnsealed: Type.Object({ at: Type.String() }),
  /** Everything before this was written elsewhere or earlier: its pending work is held until InstanceResumed. */
  InstanceRestored: Type.Object({
    /** Identifies this copy of the log. Read models that were made from another copy are rebuilt. */
    copyId: Type.String(),
    from: Type.Union([Type.Literal("import"), Type.Literal("backup")]),
    /**
     * Nobody restored it: the service found that the log had lost its newest events. `from` is then "backup", because
     * earlier releases know no other word for it. Absent: false.
     */
    lost: Type.Optional(Type.Boolean()),
    /** When the copy was taken; of a log that lost events, the time of the newest one left. */
    takenAt: Type.String(),
    /** Whether the original log was frozen. If not, it may have delivered since then what is held here. */
    sealed: Type.Boolean(),
    at: Type.String(),
  }),
  /** A copy of the log is about to be taken: it keeps what is erased later. */
  InstanceCopied: Type.Object({
    at: Type.String(),
    kind: Type.Union([Type.Literal("backup"), Type.Literal("export")]),
    /** Its path on the machine that took it. */
    place: Type.String(),
    /** It is kept up to date: this is written when that begins, and once a day while it goes on. */
    following: Type.Optional(Type.Literal(true)),
  }),
  /** The operator ended the hold. */
  InstanceResumed: Type.Object({ at: Type.String() }),
};

/** The names of the types are the storage format. */
export type InstanceEvent = EventOf<typeof schemas>;
export const instanceCodec = createCodec(schemas);

/** The events that begin and end a hold. */
export const HOLD_EVENTS = [
  "InstanceRestored",
  "InstanceResumed",
] as const satisfies readonly InstanceEvent["type"][];

/** One stream for the whole log: its first append decides which of several racing first starts wins. */
export const INSTANCE_STREAM = "instance";
