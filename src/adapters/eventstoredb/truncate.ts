import { type ExpectedRevision, StoreError } from "../../ports/eventStore.ts";
import { append } from "./append.ts";
import type { Connection } from "./connection.ts";
import { type Deadline, leftMs } from "./deadline.ts";
import { metadataStream, readMetadata, truncatedBefore } from "./streamReads.ts";

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
  while (leftMs(deadline) > 0) {
    const metadata = await readMetadata(connection.reads, stream, deadline);
    if (truncatedBefore(metadata.values) >= bound) return;
    const expected: ExpectedRevision = metadata.revision ?? "noStream";
    const event = {
      id: crypto.randomUUID(),
      type: "$metadata",
      data: { ...metadata.values, $tb: bound },
      metadata: {},
    };
    const request = { stream: metadataStream(stream), events: [event], expected };
    const result = await append(connection, request, deadline);
    if (result.outcome === "appended") return;
  }
  throw new StoreError("unavailable", `EventStoreDB: the metadata of ${stream} keeps changing`);
}
