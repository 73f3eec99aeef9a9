import { describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { STREAMS_MAX } from "../../src/http/dashboard/live/liveStreams.ts";
import { FairShareBudget } from "../../src/http/limits/fairShareBudget.ts";
import { logIn } from "../support/dashboard.ts";
import { dashboardFixture } from "../support/dashboardFixture.ts";
import { sqliteStore } from "../support/stores/stores.ts";
import { message, newKey } from "../support/tenants.ts";

const MEGABYTE = 1_000_000;
const FILE_BYTES = 4 * MEGABYTE;
const READERS = 150;
/** Garbage comes on top of the 128 MiB that they may take; without a bound all of them take 800 MB. */
const GROWTH_BYTES_MAX = 500 * MEGABYTE;

/** Requests a page, reads the beginning of the answer, and then stops reading. */
async function requestWithoutReading(url: string, path: string, cookie: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write(`GET /dashboard${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nCookie: ${cookie}\r\n\r\n`);
  await new Promise<void>((resolve, reject) => {
    socket.once("data", (bytes) => {
      socket.pause();
      if (bytes.toString("latin1").startsWith("HTTP/1.1 200 ")) resolve();
      else reject(new Error(bytes.toString("latin1").split("\r\n", 1)[0]));
    });
    socket.once("error", reject);
  });
  return socket;
}

describe("answers that nobody reads", () => {
  const fixture = dashboardFixture(sqliteStore, {});

  const messageWithFile = async () => {
    const content = Buffer.alloc(FILE_BYTES, "text that is one line\n").toString("base64");
    const attachments = [{ filename: "a.txt", content_type: "text/plain", content }];
    const { json } = await fixture.tenant.send(newKey(), message({ attachments }));
    return json.id;
  };

  test("of one workspace do not fill the memory, and other workspaces get answers", async () => {
    const path = `/messages/${await messageWithFile()}/source.eml`;
    const before = process.memoryUsage().rss;
    const sockets: Socket[] = [];
    for (let nth = 0; nth < READERS; nth += 1)
      sockets.push(await requestWithoutReading(fixture.service.url, path, fixture.visitor.cookie));
    expect(process.memoryUsage().rss - before).toBeLessThan(GROWTH_BYTES_MAX);
    const complete = await fixture.visitor.get(path);
    expect(complete.status).toBe(200);
    expect(complete.html.length).toBeGreaterThan(FILE_BYTES);
    for (const socket of sockets) socket.destroy();
  });

  test("HEAD waits for no stream, and leaves none open", async () => {
    const head = async (path: string) => {
      const headers = { cookie: fixture.visitor.cookie };
      const answer = await fetch(`${fixture.service.url}/dashboard${path}`, { method: "HEAD", headers });
      return { status: answer.status, length: answer.headers.get("content-length") };
    };
    expect(await head("/live?shown=")).toMatchObject({ status: 200 });
    expect(await head("/messages.csv")).toMatchObject({ status: 200 });
  });

  test("live pages of one workspace leave room for another one's", async () => {
    const other = await logIn(fixture.service.url, (await fixture.service.tenant()).apiKey);
    const sockets: Socket[] = [
      await requestWithoutReading(fixture.service.url, "/live?shown=", other.cookie),
    ];
    let hasOtherEnded = false;
    sockets[0]?.once("close", () => {
      hasOtherEnded = true;
    });
    for (let opened = 0; opened < STREAMS_MAX + 12; ) {
      const { cookie } = await logIn(fixture.service.url, fixture.tenant.apiKey);
      for (let nth = 0; nth < 6; nth += 1, opened += 1)
        sockets.push(await requestWithoutReading(fixture.service.url, "/live?shown=", cookie));
    }
    sockets[0]?.resume();
    const next = await requestWithoutReading(fixture.service.url, "/live?shown=", other.cookie);
    expect(hasOtherEnded).toBe(false);
    for (const socket of [...sockets, next]) socket.destroy();
  });
});

describe("messages with large files", () => {
  const fixture = dashboardFixture(sqliteStore, { BODY_BYTES_IN_FLIGHT_MAX: "20000000" });

  test("that short requests ask for take room for bodies, and free it", async () => {
    const content = Buffer.alloc(FILE_BYTES, "text that is one line\n").toString("base64");
    const attachments = [{ filename: "a.txt", content_type: "text/plain", content }];
    const { json } = await fixture.tenant.send(newKey(), message({ attachments }));
    const path = `/messages/${json.id}/source.eml`;
    const statuses = await Promise.all(
      Array.from({ length: 40 }, async () => (await fixture.visitor.get(path)).status),
    );
    expect([...new Set(statuses)].sort()).toEqual([200, 503]);
    for (const one of ["source.eml", "files/0"])
      expect((await fixture.visitor.get(`/messages/${json.id}/${one}`)).status).toBe(200);
    for (let nth = 0; nth < 6; nth += 1) {
      const fields = { to: "bo@example.com", nonce: crypto.randomUUID() };
      expect((await fixture.visitor.post(`/messages/${json.id}/send-again`, fields)).status).toBe(303);
    }
  });
});

describe("a fair share", () => {
  test("is taken from the largest holder, longest-held first", () => {
    const share = new FairShareBudget(10);
    const admitted: string[] = [];
    const request = (owner: string, amount: number, name: string) =>
      share.take(owner, amount, () => admitted.push(name));
    request("a", 3, "a1");
    const giveBackA2 = request("a", 3, "a2");
    request("b", 4, "b1");
    request("b", 1, "b2");
    expect(admitted).toEqual(["a1"]);
    giveBackA2();
    giveBackA2();
    request("c", 5, "c1");
    expect(admitted).toEqual(["a1"]);
    request("c", 12, "c2");
    expect(admitted).toEqual(["a1", "b1", "c1", "b2"]);
  });
});
