import { EMAIL_ENDS } from "../../domain/email/events.ts";
import type { RequestLog } from "../../http/server/requestLog.ts";
import type { EventStore } from "../../ports/eventStore.ts";

/** Those that alerts are for: an increase is only seen of a counter that was there before. */
const COUNTED_FROM_THE_START: readonly string[] = [
  "EmailQueued",
  "EmailDeferred",
  ...EMAIL_ENDS,
  "WebhookDelivered",
  "WebhookAttemptFailed",
];

/** What this process has done since its start. */
export interface EventAndRequestCounts {
  /** Events that it has appended to the log, by type. */
  readonly events: ReadonlyMap<string, number>;
  /** Requests that it has answered, by status. */
  readonly requests: ReadonlyMap<number, number>;
  /** Wraps the store to count what is appended. */
  counted(store: EventStore): EventStore;
  /** Wraps the request log to count what is answered. */
  countedLog(log: RequestLog): RequestLog;
}

export function eventAndRequestCounts(): EventAndRequestCounts {
  const events = new Map(COUNTED_FROM_THE_START.map((type) => [type, 0]));
  const requests = new Map<number, number>();
  return {
    events,
    requests,
    counted(store) {
      const append: EventStore["append"] = async (stream, appended, expected, options) => {
        const result = await store.append(stream, appended, expected, options);
        if (result.outcome === "appended") for (const { type } of appended) countUp(events, type);
        return result;
      };
      return Object.assign(Object.create(store) as EventStore, { append });
    },
    countedLog: (log) => ({
      ...log,
      answered(end) {
        if (!end.hasHungUp) countUp(requests, end.status);
        log.answered(end);
      },
    }),
  };
}

function countUp<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
