import { afterAll, describe, expect, test } from "bun:test";
import { connectEventStoreDb } from "../../../src/adapters/eventstoredb/eventStoreDb.ts";
import { refusal } from "../../contract/eventStore.ts";
import { freePort } from "../../support/stores/eventstoredb.ts";

interface ScavengeRequest {
  readonly path: string;
  readonly authorization: string | null;
}

const servers: { stop(): void }[] = [];
afterAll(() => {
  for (const server of servers) server.stop();
});

/** The HTTP side of a node, which answers `POST /admin/scavenge` with this status and text. */
function node(members: () => readonly number[], status: number, text: string) {
  const requests: ScavengeRequest[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      const { pathname } = new URL(request.url);
      requests.push({
        path: `${request.method} ${pathname}`,
        authorization: request.headers.get("authorization"),
      });
      if (pathname !== "/gossip") return new Response(text, { status });
      const all = members().map((port) => {
        return { state: "Follower", httpEndPointIp: "127.0.0.1", httpEndPointPort: port };
      });
      return Response.json({ members: all });
    },
  });
  servers.push({ stop: () => void server.stop(true) });
  return { port: server.port ?? 0, requests };
}

async function purge(url: string, timeoutMs = 2_000) {
  const store = await connectEventStoreDb({ url });
  try {
    return await store.purge({ timeoutMs });
  } finally {
    await store.close();
  }
}

describe("scavenging a server", () => {
  test("asks every node of the cluster, with the credentials of the connection string, and names those that refuse", async () => {
    const ports: number[] = [];
    const nodes = [401, 500].map((status) => node(() => ports, status, "no"));
    const closedPort = await freePort();
    ports.push(...nodes.map(({ port }) => port), closedPort);
    const [first] = nodes;
    const { remains } = await purge(`esdb://ops:p%40ss@127.0.0.1:${first?.port}?tls=false`);
    expect(remains).toEqual([
      expect.stringContaining(`${ports[0]}: it could not be scavenged: the user of STORE_URL is not in $ops`),
      expect.stringContaining(`${ports[1]}: it could not be scavenged: it answers 500`),
      expect.stringContaining(`${closedPort}: it could not be scavenged`),
    ]);
    for (const { requests } of nodes) {
      const [scavenge] = requests.filter(({ path }) => path === "POST /admin/scavenge");
      expect(scavenge?.authorization).toBe(`Basic ${btoa("ops:p@ss")}`);
    }
  });

  test("waits for a scavenge already in progress, and reports one that does not end", async () => {
    const { port, requests } = node(() => [], 400, "Scavenge is already running");
    const { remains } = await purge(`esdb://127.0.0.1:${port}?tls=false`, 1_500);
    expect(remains).toEqual([expect.stringContaining("another scavenge has not ended in time")]);
    expect(requests.length).toBeGreaterThan(2);
  });

  test("asks the next node when one does not answer, and is unavailable when none does", async () => {
    const closedPort = await freePort();
    const failure = await refusal(purge(`esdb://127.0.0.1:${closedPort}?tls=false`));
    expect(failure.failure).toBe("unavailable");
    const { port } = node(() => [], 403, "no");
    const { remains } = await purge(`esdb://127.0.0.1:${closedPort},127.0.0.1:${port}?tls=false`);
    expect(remains).toEqual([expect.stringContaining("answers 403")]);
  });
});
