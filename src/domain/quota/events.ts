import { Type } from "@sinclair/typebox";
import { type EventOf, makeCodec } from "../../kernel/event/codec.ts";
import { DAY_MS, type EpochMs, rfc3339, utcDay } from "../../kernel/time.ts";

const Moved = {
  /** How many messages. */
  count: Type.Integer({ minimum: 1 }),
  /** The running instance that has taken them in hand or returned them. */
  instance: Type.String(),
  /** All that instances have taken and not returned, with this: the last event alone holds the state. */
  reserved: Type.Integer({ minimum: 0 }),
  /** The one message that it was taken for, where messages are taken singly. */
  messageId: Type.Optional(Type.String()),
};

const schemas = {
  QuotaReserved: Type.Object(Moved),
  QuotaReturned: Type.Object(Moved),
};

/** The case names are the storage format. */
export type QuotaEvent = EventOf<typeof schemas>;
export const quotaCodec = makeCodec(schemas);

/** A UTC day, counted from 1970-01-01. */
export function quotaDay(at: EpochMs): number {
  return Math.floor(at / DAY_MS);
}

/** The stream of a workspace's messages of one UTC day. */
export function quotaStream(workspaceId: string, day: number): string {
  return `quota-${workspaceId}-${utcDay(rfc3339(day * DAY_MS)).replaceAll("-", "")}`;
}
