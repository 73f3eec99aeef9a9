import { type EventStoreDBClient, type StreamingRead, StreamNotFoundError } from "@eventstore/db-client";
import { sleep } from "../../../kernel/concurrency/sleep.ts";
import type { RecordedEvent } from "../../../ports/eventStore.ts";
import { isTransient, moreInformative, unavailable } from "../clientErrors.ts";
import { answerWithin, backoffMs, type Deadline, leftMs } from "../deadline.ts";
import { readAnswers } from "./readCall.ts";
import { decodeReadAnswer, readRequest, type Slice } from "./readFormat.ts";

/** How long one attempt to read may take before a new one, because the connection may be dead. */
const ATTEMPT_MS_MAX = 2_500;

/** Retries `read` until it succeeds or the deadline passes. Throws `unavailable`. */
export async function untilRead<Result>(
  what: string,
  deadline: Deadline,
  read: (timeMs: number) => Promise<Result>,
): Promise<Result> {
  let failure: unknown = null;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await read(Math.min(ATTEMPT_MS_MAX, leftMs(deadline)));
    } catch (error) {
      failure = moreInformative(failure, error);
      const waitMs = backoffMs(attempt);
      if (!isTransient(error) || leftMs(deadline) <= waitMs) throw unavailable(what, failure);
      await sleep(waitMs);
    }
  }
}

/** Collects everything that `source` yields. After `timeMs` it cancels the source and throws. */
export async function drain<Event>(source: StreamingRead<Event>, timeMs: number): Promise<Event[]> {
  // The vendor emits errors even after the reader has left, and an error event without a listener ends the process.
  source.on("error", () => {});
  try {
    return await answerWithin(timeMs, Array.fromAsync(source));
  } catch (error) {
    source.cancel().catch(() => {});
    source.destroy();
    throw error;
  }
}

/** Events of one stream, read from the leader; null if there is no such stream. Throws `unavailable`. */
async function readSlice(
  client: EventStoreDBClient,
  stream: string,
  slice: Slice,
  deadline: Deadline,
): Promise<readonly RecordedEvent[] | null> {
  const request = readRequest(stream, slice);
  return untilRead(`cannot read ${stream}`, deadline, async (timeMs) => {
    try {
      return eventsOf(await readAnswers(client, request, timeMs));
    } catch (error) {
      if (error instanceof StreamNotFoundError) return null;
      throw error;
    }
  });
}

function eventsOf(answers: readonly Buffer[]): readonly RecordedEvent[] | null {
  const events: RecordedEvent[] = [];
  for (const answer of answers) {
    const event = decodeReadAnswer(answer);
    if (event === "noStream") return null;
    if (event !== null) events.push(event);
  }
  return events;
}

/** At most `max` events of `stream` with `revision >= from`; none if there is no such stream. */
export async function readForwards(
  client: EventStoreDBClient,
  stream: string,
  { from, max }: { readonly from: number; readonly max: number },
  deadline: Deadline,
): Promise<readonly RecordedEvent[]> {
  if (max <= 0) return [];
  return (await readSlice(client, stream, { from: Math.max(0, from), max }, deadline)) ?? [];
}

/** The newest event that can be read, `"allTruncated"`, or null if there is no such stream. */
export async function readNewest(
  client: EventStoreDBClient,
  stream: string,
  deadline: Deadline,
): Promise<RecordedEvent | "allTruncated" | null> {
  const events = await readSlice(client, stream, "newest", deadline);
  return events === null ? null : (events[0] ?? "allTruncated");
}

/** The metadata of `stream` and its revision; empty values and null if there is none. */
export async function readMetadata(
  client: EventStoreDBClient,
  stream: string,
  deadline: Deadline,
): Promise<{ readonly values: Readonly<Record<string, unknown>>; readonly revision: number | null }> {
  const newest = await readNewest(client, metadataStream(stream), deadline);
  if (newest === null || newest === "allTruncated") return { values: {}, revision: null };
  return { values: newest.data as Record<string, unknown>, revision: newest.revision };
}

export function metadataStream(stream: string): string {
  return `$$${stream}`;
}

/** The revision below which events of a stream with this metadata cannot be read. */
export function truncatedBefore(values: Readonly<Record<string, unknown>>): number {
  return typeof values.$tb === "number" ? values.$tb : 0;
}
