import type { EventStoreDBClient } from "@eventstore/db-client";
import { sleep } from "../../kernel/concurrency/sleep.ts";
import { messageOf } from "../../kernel/text/errorReason.ts";
import type { Position, PurgeReport } from "../../ports/eventStore.ts";
import { type AdminHttpApi, type AdminHttpResponse, adminHttpApi } from "./adminHttpApi.ts";
import { unavailable } from "./clientErrors.ts";
import { backoffMs, type Deadline, leftMs } from "./deadline.ts";
import { readLog } from "./read/readLog.ts";
import { readLogHeadOnce } from "./read/readLogHead.ts";

/** How long to wait before asking a server again during a scavenge. */
const POLL_INTERVAL_MS = 250;
const READ_MS_MAX = 2_500;
const ALREADY_RUNNING = 400;
const NOT_ALLOWED = 401;

interface Scavenging {
  readonly api: AdminHttpApi;
  readonly client: EventStoreDBClient;
  readonly deadline: Deadline;
  readonly signal: AbortSignal;
}

/**
 * Scavenges every node of the cluster, because each has its own chunks. A scavenge first completes the chunk being
 * written, so it covers everything up to its own start (24.2). Throws `unavailable` when no node answers at all.
 */
export async function scavenge(
  url: string,
  client: EventStoreDBClient,
  deadline: Deadline,
  signal: AbortSignal,
): Promise<PurgeReport> {
  const scavenging = { api: adminHttpApi(url), client, deadline, signal };
  const nodes = await nodesOf(scavenging);
  const remains = await Promise.all(nodes.map((node) => remainsOf(scavenging, node)));
  return { remains: remains.filter((one) => one !== null) };
}

/** The addresses by which the nodes know each other. A single node may know only its own address, so we keep ours. */
async function nodesOf({ api, deadline }: Scavenging): Promise<readonly string[]> {
  let failure: unknown;
  for (const host of api.hosts) {
    try {
      const { status, text } = await api.ask(host, "GET", "/gossip", deadline);
      if (status !== 200) throw new Error(`${host} answers ${status} when asked for its cluster`);
      const members = (JSON.parse(text) as { members: readonly Member[] }).members;
      const nodes = members.filter(({ state }) => state !== "Manager");
      return nodes.length <= 1 ? [host] : nodes.map(addressOf);
    } catch (error) {
      failure = error;
    }
  }
  throw unavailable("cannot be asked to scavenge", failure);
}

interface Member {
  readonly state: string;
  readonly httpEndPointIp: string;
  readonly httpEndPointPort: number;
}

function addressOf({ httpEndPointIp: ip, httpEndPointPort: port }: Member): string {
  return `${ip.includes(":") ? `[${ip}]` : ip}:${port}`;
}

/** What may remain on one node; null if its scavenge succeeded. */
async function remainsOf(scavenging: Scavenging, node: string): Promise<string | null> {
  try {
    const { client, deadline } = scavenging;
    const from = await readLogHeadOnce(client, Math.min(READ_MS_MAX, leftMs(deadline))).catch(
      (error: Error) => error,
    );
    const id = await begin(scavenging, node);
    if (id === null) return `the chunks of EventStoreDB at ${node}: another scavenge has not ended in time`;
    if (from instanceof Error) throw from;
    const result = await resultOf(scavenging, id, from);
    if (result === "Success") return null;
    return `the chunks of EventStoreDB at ${node}: its scavenge ${id} ${result === null ? "has not ended in time" : `ended as ${result}`}`;
  } catch (error) {
    return `the chunks of EventStoreDB at ${node}: it could not be scavenged: ${messageOf(error)}`;
  }
}

/**
 * Starts a scavenge after any that is already running, which may have begun before the last truncation. Null if that
 * one does not end in time, also when the time runs out during another request.
 */
async function begin({ api, deadline, signal }: Scavenging, node: string): Promise<string | null> {
  for (let isBusy = false; leftMs(deadline) > 0 && !signal.aborted; isBusy = true) {
    const answer = await api.ask(node, "POST", "/admin/scavenge", deadline).catch((error: unknown) => {
      if (isBusy && leftMs(deadline) < POLL_INTERVAL_MS) return null;
      throw error;
    });
    if (answer === null) return null;
    if (answer.status !== ALREADY_RUNNING) return scavengeIdOf(answer);
    await sleep(Math.min(POLL_INTERVAL_MS, leftMs(deadline)), signal);
  }
  return null;
}

function scavengeIdOf({ status, text }: AdminHttpResponse): string {
  const [, id] = /"?scavengeId"?:\s*"?([0-9a-f-]{36})/i.exec(text) ?? [];
  if (status === NOT_ALLOWED) throw new Error("the user of STORE_URL is not in $ops");
  if (status !== 200 || id === undefined) throw new Error(`it answers ${status}`);
  return id;
}

/**
 * How a scavenge that began after `from` ended; null if it does not end in time. Only administrators may read its own
 * stream, so we look for the result in the whole log, which we may read.
 */
async function resultOf(
  { client, deadline, signal }: Scavenging,
  id: string,
  from: Position,
): Promise<string | null> {
  const filter = { streamPrefixes: [`$scavenges-${id}`], types: ["$scavengeCompleted"] };
  let position = from;
  for (let attempt = 0; leftMs(deadline) > 0 && !signal.aborted; attempt += 1) {
    try {
      for await (const batch of readLog(client, { from: position, filter, signal }, leftMs(deadline))) {
        const [ended] = batch.events;
        if (ended !== undefined) return String((ended.data as { result?: unknown }).result);
        position = batch.position;
      }
    } catch (error) {
      if (leftMs(deadline) > 0) throw error;
    }
    await sleep(Math.min(POLL_INTERVAL_MS, backoffMs(attempt), leftMs(deadline)), signal);
  }
  return null;
}
