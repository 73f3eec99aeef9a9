import { type EventStoreDBClient, type StreamingRead, StreamNotFoundError } from "@eventstore/db-client";
import { sleep } from "../../../kernel/sleep.ts";
import type { RecordedEvent } from "../../../ports/eventStore.ts";
import { isTransient, moreInformative, unavailable } from "../clientErrors.ts";
import { answerWithin, backoffMs, type Deadline, leftMs } from "../deadline.ts";
import { readAnswers } from "./readCall.ts";
import { decodeReadAnswer, readRequest, type Slice } from "./readFormat.ts";

/** An attempt to read that takes longer is given up for a new one: the connection may be a dead one. */
const ATTEMPT_MS_MAX = 2_500;

/** Repeats `read` until it succeeds or the deadline comes. Throws `unavailable`. */
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

/** Everything that `source` yields. After `timeMs` it is cancelled and the call fails. */
export async function drain<Event>(source: StreamingRead<Event>, timeMs: number): Promise<Event[]> {
  // The vendor emits errors even after the reader has left, and an error that nobody hears ends the process.
  source.on("error", () => {});
  try {
    return await answerWithin(timeMs, Array.fromAsync(source));
  } catch (error) {
    source.cancel().catch(() => {});
    source.destroy();
    throw error;
  }
}

/** Events of one stream from the leader; null when there is no such stream. Throws `unavailable`. */
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

/** At most `max` events of `stream` with `revision >= from`; none when there is no such stream. */
export async function readForwards(
  client: EventStoreDBClient,
  stream: string,
  { from, max }: { readonly from: number; readonly max: number },
  deadline: Deadline,
): Promise<readonly RecordedEvent[]> {
  if (max <= 0) return [];
  return (await readSlice(client, stream, { from: Math.max(0, from), max }, deadline)) ?? [];
}

/** The newest event that can be read, `"allTruncated"`, or null when there is no such stream. */
export async function readNewest(
  client: EventStoreDBClient,
  stream: string,
  deadline: Deadline,
): Promise<RecordedEvent | "allTruncated" | null> {
  const events = await readSlice(client, stream, "newest", deadline);
  return events === null ? null : (events[0] ?? "allTruncated");
}

/** The first revision of `stream` that truncation left, and the revision of the metadata that says so. */
export async function readMetadata(
  client: EventStoreDBClient,
  stream: string,
  deadline: Deadline,
): Promise<{ readonly values: Readonly<Record<string, unknown>>; readonly revision: number | null }> {
  const newest = await readNewest(client, metadataStream(stream), deadline);
  if (newest === null || newest === "allTruncated") return { values: {}, revision: null };
  return { values: newest.data as Record<string, unknown>, revision: newest.revision };
}

/** The stream that holds the metadata of `stream`. */
export function metadataStream(stream: string): string {
  return `$$${stream}`;
}

/** The bound below which events of a stream with this metadata are not read. */
export function truncatedBefore(values: Readonly<Record<string, unknown>>): number {
  return typeof values.$tb === "number" ? values.$tb : 0;
}
