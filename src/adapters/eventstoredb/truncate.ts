import type { EventStoreDBClient } from "@eventstore/db-client";
import { type ExpectedRevision, StoreError, type Truncation } from "../../ports/eventStore.ts";
import { append } from "./append/append.ts";
import type { Connection } from "./connection.ts";
import { type Deadline, leftMs } from "./deadline.ts";
import type { LogReading } from "./read/allSubscription.ts";
import { SYSTEM_PREFIX } from "./read/logFilters.ts";
import { readLog } from "./read/readLog.ts";
import { metadataStream, readMetadata, truncatedBefore } from "./read/streamReads.ts";

/** The event types for a change of a stream's metadata, and for a stream that the server has deleted for good. */
const METADATA_CHANGED = "$metadata";
const STREAM_DELETED = "$streamDeleted";
export const METADATA_STREAM = metadataStream("");

/**
 * Every truncation of a stream, in log order. We only ever limit a stream by `$tb`; any other limit in its metadata
 * counts as a truncation of all its events. The server accepts metadata from events of any type in the metadata
 * stream. Throws `unavailable`.
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
  // Nothing comes after a deletion, so deletions may come last.
  const ofDeletions = { types: [STREAM_DELETED] };
  for await (const { events } of readLog(client, { ...reading, filter: ofDeletions }, timeoutMs)) {
    const streams = events.map(({ stream }) => stream).filter((stream) => !stream.startsWith(SYSTEM_PREFIX));
    yield streams.map((stream) => ({ stream, before: Number.POSITIVE_INFINITY }));
  }
}

/** The members that the server reads from a metadata event; none if it is not a JSON object. */
export function membersOf(data: unknown): Readonly<Record<string, unknown>> {
  const isObject = typeof data === "object" && data !== null && !(data instanceof Uint8Array);
  return isObject && !Array.isArray(data) ? (data as Readonly<Record<string, unknown>>) : {};
}

function boundOf(metadata: Readonly<Record<string, unknown>>): number {
  const isOurs = metadata.$maxAge === undefined && metadata.$maxCount === undefined;
  return isOurs ? truncatedBefore(metadata) : Number.POSITIVE_INFINITY;
}

/** Our stream that this metadata stream belongs to; null if it is one of the server's own. */
export function ownStream(metadataOf: string): string | null {
  const stream = metadataOf.slice(METADATA_STREAM.length);
  return stream.startsWith(SYSTEM_PREFIX) ? null : stream;
}

/**
 * Raises the stream's `$tb`, never lowers it, and keeps its other metadata. `last` is the stream's last revision; a
 * bound past it would hide future events. The events stay in `$all` until the server is scavenged. Throws
 * `unavailable`.
 */
export async function truncate(
  connection: Connection,
  { stream, revision, last }: { readonly stream: string; readonly revision: number; readonly last: number },
  deadline: Deadline,
): Promise<void> {
  const bound = Math.min(revision, last + 1);
  // Few streams have metadata before they are truncated, so we read it only if the append reports that there is some.
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
