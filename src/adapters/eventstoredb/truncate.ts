import type { EventStoreDBClient } from "@eventstore/db-client";
import { type ExpectedRevision, StoreError, type Truncation } from "../../ports/eventStore.ts";
import { append } from "./append/append.ts";
import type { Connection } from "./connection.ts";
import { type Deadline, leftMs } from "./deadline.ts";
import { SYSTEM_PREFIX } from "./read/logFilters.ts";
import type { LogReading } from "./read/logSubscription.ts";
import { readLog } from "./read/readLog.ts";
import { metadataStream, readMetadata, truncatedBefore } from "./read/streamReads.ts";

/** What we and the server write when a stream's metadata changes, and what it writes when a stream is deleted for good. */
const METADATA_CHANGED = "$metadata";
const STREAM_DELETED = "$streamDeleted";
export const METADATA_STREAM = metadataStream("");

/**
 * Every truncation of a stream, in the order of the log. Metadata that bounds a stream in another way than by `$tb`,
 * which we never do, counts as a truncation of all its events. The server takes metadata from an event of any type in
 * the stream of metadata. Throws `unavailable`.
 */
export async function* readTruncations(
  client: EventStoreDBClient,
  reading: Omit<LogReading, "filter">,
  timeoutMs: number,
): AsyncGenerator<readonly Truncation[]> {
  const ofMetadata = { streamPrefixes: [METADATA_STREAM] };
  for await (const { events } of readLog(client, { ...reading, filter: ofMetadata }, timeoutMs)) {
    yield events.flatMap(({ stream: metadataOf, data }) => {
      const stream = ownStream(metadataOf);
      return stream === null ? [] : [{ stream, before: boundOf(membersOf(data)) }];
    });
  }
  // Nothing comes after a deletion, so these are the last word on their streams.
  const ofDeletions = { types: [STREAM_DELETED] };
  for await (const { events } of readLog(client, { ...reading, filter: ofDeletions }, timeoutMs)) {
    const streams = events.map(({ stream }) => stream).filter((stream) => !stream.startsWith(SYSTEM_PREFIX));
    yield streams.map((stream) => ({ stream, before: Number.POSITIVE_INFINITY }));
  }
}

/** What the server reads of an event of metadata: nothing where it is no JSON object. */
export function membersOf(data: unknown): Readonly<Record<string, unknown>> {
  const isObject = typeof data === "object" && data !== null && !(data instanceof Uint8Array);
  return isObject && !Array.isArray(data) ? (data as Readonly<Record<string, unknown>>) : {};
}

function boundOf(metadata: Readonly<Record<string, unknown>>): number {
  const isOurs = metadata.$maxAge === undefined && metadata.$maxCount === undefined;
  return isOurs ? truncatedBefore(metadata) : Number.POSITIVE_INFINITY;
}

/** The stream of ours whose metadata this one holds; null when it is one of the server's own. */
export function ownStream(metadataOf: string): string | null {
  const stream = metadataOf.slice(METADATA_STREAM.length);
  return stream.startsWith(SYSTEM_PREFIX) ? null : stream;
}

/**
 * Sets the stream's `$tb`, which never goes down, and leaves its other metadata alone. `last` is the
 * stream's last revision: a bound past it would hide events that are yet to come. The events stay in `$all`
 * until the server is scavenged. Throws `unavailable`.
 */
export async function truncate(
  connection: Connection,
  { stream, revision, last }: { readonly stream: string; readonly revision: number; readonly last: number },
  deadline: Deadline,
): Promise<void> {
  const bound = Math.min(revision, last + 1);
  // Few streams have metadata before they are truncated, so it is read only once the append says that there is some.
  let metadata: Awaited<ReturnType<typeof readMetadata>> = { values: {}, revision: null };
  while (leftMs(deadline) > 0) {
    if (truncatedBefore(metadata.values) >= bound) return;
    const expected: ExpectedRevision = metadata.revision ?? "noStream";
    const event = {
      id: crypto.randomUUID(),
      type: METADATA_CHANGED,
      data: { ...metadata.values, $tb: bound },
      metadata: {},
    };
    const request = { stream: metadataStream(stream), events: [event], expected };
    const result = await append(connection, request, deadline);
    if (result.outcome === "appended") return;
    metadata = await readMetadata(connection.reads, stream, deadline);
  }
  throw new StoreError("unavailable", `EventStoreDB: the metadata of ${stream} keeps changing`);
}
