import type { EventStoreDBClient } from "@eventstore/db-client";
import { type ExpectedRevision, LOG_START, StoreError, type Truncation } from "../../ports/eventStore.ts";
import { append } from "./append.ts";
import type { Connection } from "./connection.ts";
import { type Deadline, leftMs } from "./deadline.ts";
import { readLog } from "./logReads.ts";
import { metadataStream, readMetadata, truncatedBefore } from "./streamReads.ts";

const METADATA_TYPE = "$metadata";

/** The streams whose metadata says that they are truncated, as often as it was said. Throws `unavailable`. */
export async function* readTruncations(
  client: EventStoreDBClient,
  signal: AbortSignal,
  timeoutMs: number,
): AsyncGenerator<readonly Truncation[]> {
  const prefix = metadataStream("");
  // Of the server's own streams nobody asked.
  const isOurs = (stream: string) => stream.startsWith(prefix) && !stream.startsWith("$", prefix.length);
  const matches = ({ streamId, type }: { readonly streamId: string; readonly type: string }) =>
    type === METADATA_TYPE && isOurs(streamId);
  const reading = { from: LOG_START, filter: { types: [METADATA_TYPE] }, matches, signal };
  for await (const { events } of readLog(client, reading, timeoutMs)) {
    yield events.flatMap(({ stream, data }) => {
      const before = truncatedBefore(data as Readonly<Record<string, unknown>>);
      return before > 0 ? [{ stream: stream.slice(prefix.length), before }] : [];
    });
  }
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
  // Hardly a stream has metadata before it is truncated: only where that is not so is it read.
  let metadata: Awaited<ReturnType<typeof readMetadata>> = { values: {}, revision: null };
  while (leftMs(deadline) > 0) {
    if (truncatedBefore(metadata.values) >= bound) return;
    const expected: ExpectedRevision = metadata.revision ?? "noStream";
    const event = {
      id: crypto.randomUUID(),
      type: METADATA_TYPE,
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
