import { EventStoreDBClient } from "@eventstore/db-client";
import { BatchAppends } from "./append/batchAppends.ts";
import { pause } from "./deadline.ts";

/** A disposal that takes longer than this is left to the vendor. */
const DISPOSE_MS_MAX = 1_000;

/**
 * The vendor's clients of one store. Appends have one of their own, because a client drops its channel, and
 * every call on it, when one call finds the server away.
 */
export interface Connection {
  readonly appends: EventStoreDBClient;
  readonly reads: EventStoreDBClient;
  /** Every append goes through here, on the channel of `appends`. */
  readonly batches: BatchAppends;
}

/** Opens nothing yet: the first call connects. Throws when `url` is not a connection string. */
export function openConnection(url: string): Connection {
  const appends = EventStoreDBClient.connectionString(url);
  const reads = EventStoreDBClient.connectionString(url);
  return { appends, reads, batches: new BatchAppends(appends) };
}

/** Ends the calls under way and closes the channels. */
export async function closeConnection({ appends, reads, batches }: Connection): Promise<void> {
  batches.close();
  const closed = Promise.all([closeClient(appends), closeClient(reads)]);
  await Promise.race([closed, pause(DISPOSE_MS_MAX)]);
}

async function closeClient(client: EventStoreDBClient): Promise<void> {
  await client.dispose();
  // The vendor keeps its channel to itself and offers nothing that closes it.
  const owner = client as unknown as { getChannel(): Promise<{ close(): void }> };
  const channel = await owner.getChannel().catch(() => null);
  channel?.close();
}
