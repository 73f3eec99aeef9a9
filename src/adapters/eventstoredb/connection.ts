import { EventStoreDBClient } from "@eventstore/db-client";
import { sleep } from "../../kernel/sleep.ts";
import { messageOf } from "../../kernel/text/errorReason.ts";
import { adminHttpApi } from "./adminHttpApi.ts";
import { BatchAppendStream } from "./append/batchAppendStream.ts";
import { deadlineIn } from "./deadline.ts";
import { permitIpHostsOverTls } from "./permitIpHostsOverTls.ts";

/** How long nodes that do not describe their cluster are asked why. */
const ASK_MS_MAX = 1_000;
const DISCOVER_ATTEMPTS = 3;
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
  readonly batches: BatchAppendStream;
}

/** Opens nothing yet: the first call connects. Throws when `url` is not a connection string. */
export function openConnection(url: string): Connection {
  permitIpHostsOverTls();
  const [appends, reads] = [openClient(url), openClient(url)];
  return { appends, reads, batches: new BatchAppendStream(appends) };
}

/** Ends the calls under way and closes the channels. */
export async function closeConnection({ appends, reads, batches }: Connection): Promise<void> {
  batches.close();
  const closed = Promise.all([closeClient(appends), closeClient(reads)]);
  await Promise.race([closed, sleep(DISPOSE_MS_MAX)]);
}

/** A client that says why when it finds no node of its cluster: the vendor keeps that for its debug log. */
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

/** Whoever asks for a node asks again, so the vendor need not try for longer than an attempt of ours takes. */
function withDiscovery(url: string): string {
  if (/[?&]maxDiscoverAttempts=/i.test(url)) return url;
  return `${url.trim()}${url.includes("?") ? "&" : "?"}maxDiscoverAttempts=${DISCOVER_ATTEMPTS}`;
}

/** Why none of the nodes that `url` names can be asked for the cluster; null when one can. */
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
  // The vendor keeps its channel to itself and offers nothing that closes it.
  const owner = client as unknown as { getChannel(): Promise<{ close(): void }> };
  const channel = await owner.getChannel().catch(() => null);
  channel?.close();
}
