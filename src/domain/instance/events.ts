import { Type } from "@sinclair/typebox";
import { type EventOf, makeCodec } from "../../kernel/codec.ts";
import { LOG_FORMAT_RAISED } from "../../kernel/logFormat.ts";

const schemas = {
  InstanceCreated: Type.Object({
    logId: Type.String(),
    /** The instance's data key, sealed under MASTER_KEY: opening it is the check of MASTER_KEY. */
    sealedDataKey: Type.String(),
    contentStoreId: Type.String(),
  }),
  MasterKeyRotated: Type.Object({ sealedDataKey: Type.String() }),
  /** From here on the log may hold events that only a program reads that reads this format. A new log is at 1. */
  [LOG_FORMAT_RAISED]: Type.Object({ format: Type.Integer({ minimum: 2 }) }),
};

/** The case names are the storage format. */
export type InstanceEvent = EventOf<typeof schemas>;
export const instanceCodec = makeCodec(schemas);

/** One stream for the whole log: its first append settles racing first starts. */
export const INSTANCE_STREAM = "instance";
