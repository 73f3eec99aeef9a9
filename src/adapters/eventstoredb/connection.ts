import { EventStoreDBClient } from "@eventstore/db-client";
import { sleep } from "../../kernel/concurrency/sleep.ts";
import { messageOf } from "../../kernel/text/errorReason.ts";
import { adminHttpApi } from "./adminHttpApi.ts";
import { BatchAppendStream } from "./append/batchAppendStream.ts";
import { deadlineIn } from "./deadline.ts";
import { permitIpHostsOverTls } from "./permitIpHostsOverTls.ts";

/** How long to ask the nodes why discovery failed. */
const ASK_MS_MAX = 1_000;
const DISCOVER_ATTEMPTS = 3;
/** How long to wait while the vendor disposes of its clients. */
const DISPOSE_MS_MAX = 1_000;

/**
 * The vendor's clients of one store. Appends have their own, because when one call finds the server unreachable, its
 * client drops the channel and every call on it.
 */
export interface Connection {
  readonly appends: EventStoreDBClient;
  readonly reads: EventStoreDBClient;
  /** Carries every append, on the channel of `appends`. */
  readonly batches: BatchAppendStream;
}

/** Connects only at the first call. Throws when `url` is not a connection string. */
export function openConnection(url: string): Connection {
  permitIpHostsOverTls();
  const [appends, reads] = [openClient(url), openClient(url)];
  return { appends, reads, batches: new BatchAppendStream(appends) };
}

/** Ends the calls in flight and closes the channels. */
export async function closeConnection({ appends, reads, batches }: Connection): Promise<void> {
  batches.close();
  const closed = Promise.all([closeClient(appends), closeClient(reads)]);
  await Promise.race([closed, sleep(DISPOSE_MS_MAX)]);
}

/** A client that reports why it finds no node of its cluster; the vendor's writes that only to its debug log. */
function openClient(url: string): EventStoreDBClient {
  const client = EventStoreDBClient.connectionString(withDiscovery(url));
  const vendor = client as unknown as { resolveUri(): Promise<string> };
  const resolve = vendor.resolveUri;
  vendor.resolveUri = () =>
    resolve().catch(async (error: unknown) => {
      const fault = await faultOfNodes(url);
      if (fault === null) throw error;
      throw new Error(`${messageOf(error)} Last error: ${fault}`, { cause: error });
    });
  return client;
}

/** Limits the vendor's discovery to about the time of one of our attempts, because we retry ourselves. */
function withDiscovery(url: string): string {
  if (/[?&]maxDiscoverAttempts=/i.test(url)) return url;
  return `${url.trim()}${url.includes("?") ? "&" : "?"}maxDiscoverAttempts=${DISCOVER_ATTEMPTS}`;
}

/** Why none of the nodes in `url` describes its cluster; null if one does. */
async function faultOfNodes(url: string): Promise<string | null> {
  const { hosts, ask } = adminHttpApi(url);
  const deadline = deadlineIn(ASK_MS_MAX);
  const asked = hosts.map((host) => ask(host, "GET", "/gossip", deadline));
  return Promise.any(asked).then(
    () => null,
    (faults: AggregateError) => messageOf(faults.errors[0]),
  );
}

async function closeClient(client: EventStoreDBClient): Promise<void> {
  await client.dispose();
  // The vendor offers no way to close its channel.
  const owner = client as unknown as { getChannel(): Promise<{ close(): void }> };
  const channel = await owner.getChannel().catch(() => null);
  channel?.close();
}
