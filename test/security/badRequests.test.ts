import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFile, rm } from "node:fs/promises";
import { connect } from "node:net";
import { startTestProcess, type TestProcess } from "../support/service.ts";
import { message, newKey } from "../support/tenants.ts";
import { until } from "../support/until.ts";

const REQUESTS = 50_000;
const CONNECTIONS = 20;
/** Requests at once on one connection; all are answered before the next batch. */
const BATCH = 50;
/** What the process may have grown by after the second half of them, in bytes. */
const GROWTH_BYTES_MAX = 48_000_000;

describe("a service that gets requests it must refuse", () => {
  let service: TestProcess;
  beforeAll(async () => {
    service = await startTestProcess({
      env: {
        AUTH_FAILURES_PER_MINUTE: "0",
        LIMIT_KEY_REQUESTS_PER_SECOND: "0",
        LIMIT_WORKSPACE_REQUESTS_PER_SECOND: "0",
      },
    });
  });
  afterAll(async () => {
    await service.kill("SIGTERM");
    await rm(service.dataDir, { recursive: true, force: true });
  });

  const memoryBytes = async () =>
    1_024 * Number(/VmRSS:\s+(\d+) kB/.exec(await readFile(`/proc/${service.pid}/status`, "utf8"))?.[1]);

  /** The bytes of a request, refused in one of many ways. */
  const bad = (index: number): string => {
    const key = `Authorization: Bearer ${service.apiKey}\r\n`;
    const post = (headers: string, body: string) =>
      `POST /api/v1/emails HTTP/1.1\r\nHost: a\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    const json = "Content-Type: application/json\r\n";
    const idempotency = `Idempotency-Key: bad-request-${index}\r\n`;
    const shapes = [
      () => `GET /nowhere/${index} HTTP/1.1\r\nHost: a\r\n\r\n`,
      () => `PUT /api/v1/emails HTTP/1.1\r\nHost: a\r\nX-Random: ${index}\r\n\r\n`,
      () => post(`Authorization: Bearer pl_${index}\r\n${json}${idempotency}`, "{}"),
      () => post(key + json, "{}"),
      () => post(key + idempotency, "{}"),
      () => post(key + json + idempotency, `{"a${index}":`),
      () => post(key + json + idempotency, JSON.stringify({ [`a${index}`]: "x".repeat(500) })),
      () => post(key + json + idempotency, JSON.stringify(message({ from: `nobody-${index}@example.org` }))),
      () => `GET /api/v1/emails/${crypto.randomUUID()} HTTP/1.1\r\nHost: a\r\n${key}\r\n`,
      () => `GET /api/v1/emails?cursor=${index} HTTP/1.1\r\nHost: a\r\n${key}\r\n`,
      () => `GET /senders/verify/${index} HTTP/1.1\r\nHost: a\r\n\r\n`,
    ];
    return (shapes[index % shapes.length] as () => string)();
  };

  /** Sends so many over one connection, in batches; how many were refused as they should be. */
  const sendMany = (first: number, count: number): Promise<number> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(service.url);
      let sent = 0;
      let answered = 0;
      let refused = 0;
      let rest = "";
      const socket = connect(Number(port), hostname);
      const batch = () => {
        const size = Math.min(BATCH, count - sent);
        let bytes = "";
        for (let index = 0; index < size; index += 1) bytes += bad(first + sent + index);
        sent += size;
        socket.write(bytes);
      };
      socket.on("connect", batch);
      socket.on("error", reject);
      socket.on("close", () => reject(new Error(`closed after ${answered} answers`)));
      socket.on("data", (chunk) => {
        const text = rest + chunk.toString("latin1");
        const starts = [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)];
        answered += starts.length;
        refused += starts.filter(([, status]) => status?.startsWith("4")).length;
        // Only the beginning of a status line may have arrived; a whole one is longer.
        rest = text.slice(-"HTTP/1.1 40".length);
        if (answered < sent) return;
        if (sent < count) batch();
        else {
          socket.removeAllListeners("close");
          socket.destroy();
          resolve(refused);
        }
      });
    });

  const sendAll = async (first: number, count: number): Promise<number> => {
    const each = count / CONNECTIONS;
    const all = Array.from({ length: CONNECTIONS }, (_, index) => sendMany(first + index * each, each));
    return (await Promise.all(all)).reduce((sum, refused) => sum + refused, 0);
  };

  test("50,000 times uses no more memory than before, and still works", async () => {
    const half = REQUESTS / 2;
    // The first half warms up what stays in memory: compiled code, bounded caches.
    expect(await sendAll(0, half)).toBe(half);
    const before = await memoryBytes();
    expect(await sendAll(half, half)).toBe(half);
    // Garbage is collected on demand, so poll until it is gone.
    await until(
      async () => (await memoryBytes()) - before < GROWTH_BYTES_MAX,
      "the memory to be released",
      60_000,
    );
    const sent = await service.send(newKey(), message({ from: "hello@example.com" }));
    expect(sent.status).toBe(202);
  }, 120_000);
});
