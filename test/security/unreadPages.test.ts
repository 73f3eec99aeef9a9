import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { gunzipSync } from "node:zlib";
import { PAGES_PER_MINUTE_MAX } from "../../src/http/limits/rateLimits.ts";
import { callerOf, startTestApp, type TestApp } from "../support/service.ts";
import { until } from "../support/until.ts";

const CLIENTS = 400;
const ANSWER_BYTES_MAX = 80_000;

describe("pages that need no key", () => {
  let app: TestApp;
  const sockets: Socket[] = [];
  beforeAll(async () => {
    app = await startTestApp({ env: { TRUSTED_PROXIES: "127.0.0.1" } });
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await app.remove();
  });

  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(app.url + path, { headers, decompress: false });

  test("are compressed once, with their own ETag, for clients that accept that", async () => {
    for (const path of ["/docs", "/openapi.json"]) {
      const from = { "x-forwarded-for": "192.0.2.1" };
      const plain = await get(path, { ...from, "accept-encoding": "identity" });
      const small = await get(path, { ...from, "accept-encoding": "br, gzip" });
      expect(plain.headers.get("content-encoding")).toBeNull();
      expect(small.headers.get("content-encoding")).toBe("gzip");
      for (const answer of [plain, small]) expect(answer.headers.get("vary")).toContain("Accept-Encoding");
      const bytes = await small.bytes();
      expect(bytes.length).toBeLessThan(ANSWER_BYTES_MAX);
      expect(gunzipSync(bytes).toString()).toBe(await plain.text());
      expect(small.headers.get("content-type")).toBe(plain.headers.get("content-type"));
      expect(small.headers.get("content-security-policy")).toBe(plain.headers.get("content-security-policy"));
      const tags = [plain, small].map((answer) => answer.headers.get("etag") ?? "");
      expect(tags[0]).not.toBe(tags[1]);
      const revalidated = await get(path, {
        ...from,
        "accept-encoding": "gzip",
        "if-none-match": tags[1] ?? "",
      });
      expect(revalidated.status).toBe(304);
      for (const coding of ["gzip;q=0", "gzip; q=0.000", "identity, gzip;q=0"]) {
        const answer = await get(path, { ...from, "accept-encoding": coding });
        expect(answer.headers.get("content-encoding")).toBeNull();
      }
      expect(
        (await get(path, { ...from, "accept-encoding": "gzip;q=0.5" })).headers.get("content-encoding"),
      ).toBe("gzip");
    }
  });

  test("do not pile up in memory for a client that reads none of them", async () => {
    const heads = new Map<Socket, string>();
    const { hostname, port } = new URL(app.url);
    for (let index = 0; index < CLIENTS; index += 1) {
      const socket = connect(Number(port), hostname);
      sockets.push(socket);
      // The service may end a connection whose answer is not read.
      socket.on("error", () => {});
      // Only the beginning is read.
      socket.once("data", (chunk) => {
        heads.set(socket, chunk.toString("latin1"));
        socket.pause();
      });
      socket.write(
        "GET /docs HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 198.51.100.7\r\nAccept-Encoding: identity\r\n\r\n",
      );
    }
    await until(() => heads.size === CLIENTS, "all answers to begin");
    const pages = [...heads.values()].filter((head) => head.startsWith("HTTP/1.1 200"));
    expect(pages.length).toBeLessThanOrEqual(PAGES_PER_MINUTE_MAX);
    const refused = [...heads.values()].filter((head) => head.startsWith("HTTP/1.1 429"));
    expect(pages.length + refused.length).toBe(CLIENTS);
    for (const head of refused) expect(head).toMatch(/\r\nretry-after: [1-9]\d*\r\n/i);
    // Other clients are not delayed, and unchanged pages count against nobody.
    const other = await get("/docs", { "x-forwarded-for": "203.0.113.9" });
    expect(other.status).toBe(200);
    const known = { "x-forwarded-for": "198.51.100.7", "if-none-match": "*" };
    expect((await get("/docs", known)).status).toBe(304);
    for (const path of ["/docs", "/openapi.json"]) {
      const { call } = callerOf(app.url, "");
      const limited = await call("GET", path, { headers: { "x-forwarded-for": "198.51.100.7" } });
      expect({ status: limited.status, code: limited.json.code }).toEqual({
        status: 429,
        code: "RATE_LIMITED",
      });
    }
  });
});
