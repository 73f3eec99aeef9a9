import { type Credentials, EventStoreDBClient } from "@eventstore/db-client";
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
  /**
   * Goes with every append: only then does the vendor send it as a call of its own, which honours a
   * deadline and names the leader, instead of into its batch, which does neither (a batch also keeps its
   * promises in one map for the whole process). Absent for TLS without a user name; the batch it is then.
   */
  readonly appendCredentials: Credentials | undefined;
}

/** Opens nothing yet: the first call connects. Throws when `url` is not a connection string. */
export function openConnection(url: string): Connection {
  return {
    appends: EventStoreDBClient.connectionString(url),
    reads: EventStoreDBClient.connectionString(url),
    appendCredentials: credentialsOf(url),
  };
}

/** Ends the calls under way and closes the channels. */
export async function closeConnection({ appends, reads }: Connection): Promise<void> {
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

function credentialsOf(url: string): Credentials | undefined {
  const [, username, password] = /^[^:]+:\/\/([^:@/]+):([^@]+)@/.exec(url.trim()) ?? [];
  if (username !== undefined && password !== undefined) {
    return { username: decodeURIComponent(username), password: decodeURIComponent(password) };
  }
  // The vendor sends no credentials without TLS: these only choose the kind of call.
  return /[?&]tls=false\b/i.test(url) ? { username: "insecure", password: "insecure" } : undefined;
}
