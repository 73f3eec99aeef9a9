import { BACKWARDS, END, type EventStoreDBClient } from "@eventstore/db-client";
import { LOG_START, type Position } from "../../../ports/eventStore.ts";
import type { Deadline } from "../deadline.ts";
import { positionText } from "../positions.ts";
import { drain, untilRead } from "./streamReads.ts";

/**
 * The position of the log's last record, including the server's own: readers move past those too, and must never seem
 * to be ahead of the head. A server's log is never completely empty. Throws `unavailable`.
 */
export function readLogHead(client: EventStoreDBClient, deadline: Deadline): Promise<Position> {
  return untilRead("cannot read the head of the log", deadline, (timeMs) => readLogHeadOnce(client, timeMs));
}

/** The same as {@link readLogHead} in one attempt. Throws what the vendor throws. */
export async function readLogHeadOnce(client: EventStoreDBClient, timeMs: number): Promise<Position> {
  const options = { fromPosition: END, direction: BACKWARDS, maxCount: 1, requiresLeader: true } as const;
  const [newest] = await drain(client.readAll(options), timeMs);
  return newest?.event ? positionText(newest.event.position) : LOG_START;
}
