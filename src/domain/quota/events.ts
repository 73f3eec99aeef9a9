import { Type } from "@sinclair/typebox";
import { createCodec, type EventOf } from "../../kernel/event/eventCodec.ts";
import { DAY_MS, type EpochMs, rfc3339, utcDay } from "../../kernel/time.ts";

const Moved = {
  /** How many messages. */
  count: Type.Integer({ minimum: 1 }),
  /** The running instance that reserved or returned them. */
  instance: Type.String(),
  /** Everything reserved and not returned so far, this event included: the last event alone holds the sum. */
  reserved: Type.Integer({ minimum: 0 }),
  /** The only message that it is for, if it is a single unit. */
  messageId: Type.Optional(Type.String()),
};

const schemas = {
  QuotaReserved: Type.Object(Moved),
  QuotaReturned: Type.Object(Moved),
};

/** The names of the types are the storage format. */
export type QuotaEvent = EventOf<typeof schemas>;
export const quotaCodec = createCodec(schemas);

/** A UTC day, counted from 1970-01-01. */
export function quotaDay(at: EpochMs): number {
  return Math.floor(at / DAY_MS);
}

/** The stream of a workspace's messages of one UTC day. */
export function quotaStream(workspaceId: string, day: number): string {
  return `quota-${workspaceId}-${utcDay(rfc3339(day * DAY_MS)).replaceAll("-", "")}`;
}
