import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, spyOn, test } from "bun:test";
import { readFile, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { BodyAdmissionControl, type IncomingBody } from "../../src/http/body/bodyAdmission.ts";
import { BODY_BYTES_IN_FLIGHT_MIN } from "../../src/http/body/bodyLimits.ts";
import { Problem } from "../../src/http/server/problem.ts";
import { MINUTE_MS } from "../../src/kernel/time.ts";
import { startTestProcess, type TestProcess } from "../support/service.ts";
import { serviceFixture } from "../support/serviceFixture.ts";
import { sqliteStore } from "../support/stores/stores.ts";
import { message, newKey, type Tenant } from "../support/tenants.ts";
import { until } from "../support/until.ts";

/** Large bodies take their time where the cores are shared. */
setDefaultTimeout(60_000);

const LARGE_BYTES = 16_000_000;
/** For what does not depend on the store. */
const sqlite = [sqliteStore];

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

interface OpenRequest {
  readonly answer: () => string;
  readonly isClosed: () => boolean;
  write(bytes: string | Uint8Array): void;
}

/** A send over a connection of its own: its headers, and as much of its body as the test likes. */
function begin(url: string, apiKey: string, ...framing: readonly string[]): OpenRequest {
  const { hostname, port } = new URL(url);
  let answer = "";
  let isClosed = false;
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  socket.on("data", (chunk) => {
    answer += chunk;
  });
  // It is reset when it keeps writing to a refused request.
  socket.on("error", () => {});
  socket.on("close", () => {
    isClosed = true;
  });
  const lines = [
    "POST /api/v1/emails HTTP/1.1",
    "Host: localhost",
    `Authorization: Bearer ${apiKey}`,
    "Content-Type: application/json",
    `Idempotency-Key: ${newKey()}`,
    ...framing,
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  return { answer: () => answer, isClosed: () => isClosed, write: (bytes) => void socket.write(bytes) };
}

const announced = `Content-Length: ${LARGE_BYTES}`;
const statusOf = ({ answer }: OpenRequest) => Number(answer().split(" ", 2)[1] ?? 0);

describe.each(sqlite)("bodies on $name", (store) => {
  const { service, tenant } = serviceFixture(store, {
    BODY_BYTES_IN_FLIGHT_MAX: String(BODY_BYTES_IN_FLIGHT_MIN),
  });

  const fullBody = () => JSON.stringify(message()).padEnd(LARGE_BYTES);
  const large = (sender: Tenant) =>
    sender.call("POST", "/api/v1/emails", { body: fullBody(), headers: { "idempotency-key": newKey() } });

  test("that are announced but never arrive take no room from other workspaces", async () => {
    const other = await service.tenant();
    const openRequests = Array.from({ length: 136 }, () => begin(service.url, tenant.apiKey, announced));
    for (const one of openRequests) one.write(" ".repeat(1_000));
    // All of them have started before the next request comes.
    for (const _ of [1, 2, 3]) await tenant.call("GET", "/webhooks");
    const statuses: number[] = [];
    for (let round = 0; round < 100; round += 1) {
      for (const one of openRequests) one.write(" ");
      statuses.push((await other.send(newKey(), message())).status);
      if (round % 25 === 0) statuses.push((await large(other)).status);
    }
    expect(statuses.filter((status) => status === 202).length / statuses.length).toBeGreaterThanOrEqual(0.98);
    // Of the same workspace, too.
    expect((await tenant.send(newKey(), message())).status).toBe(202);
  });

  test("that have arrived in part give way to a faster one", async () => {
    const slow = begin(service.url, tenant.apiKey, announced);
    slow.write(" ".repeat(8_000_000));
    // It stands still, so it soon is the slower one.
    await until(async () => (await large(tenant)).status === 202, "a faster request to be admitted");
    await until(() => slow.answer() !== "" || slow.isClosed(), "the slow request to be cut off");
  });

  test("past the bound are refused with Retry-After, and room is freed when requests are answered", async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => large(tenant)));
    const refused = answers.filter(({ status }) => status !== 202);
    expect(refused.length).toBeGreaterThan(0);
    for (const { status, json, headers } of refused) {
      expect({ status, code: json.code, retryable: json.retryable }).toEqual({
        status: 503,
        code: "INTERNAL_ERROR",
        retryable: true,
      });
      expect(Number(headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    }
    for (const _ of [1, 2, 3]) expect((await large(tenant)).status).toBe(202);
  });

  test("without a declared length are counted as they arrive", async () => {
    const chunk = `${(1_000_000).toString(16)}\r\n${" ".repeat(1_000_000)}\r\n`;
    const many = Array.from({ length: 4 }, () =>
      begin(service.url, tenant.apiKey, "Transfer-Encoding: chunked"),
    );
    for (const one of many) one.write(chunk.repeat(12));
    await until(() => many.some((one) => statusOf(one) === 503), "one request to be refused");
  });

  test("free their room when their clients disconnect", async () => {
    for (let round = 0; round < 3; round += 1) {
      const abandoned = begin(service.url, tenant.apiKey, announced);
      abandoned.write(" ".repeat(15_000_000));
      await tenant.call("GET", "/webhooks");
      for (const socket of sockets.splice(0)) socket.destroy();
    }
    await until(async () => (await large(tenant)).status === 202, "the budget to be free");
  });

  test("larger than the limit get PAYLOAD_TOO_LARGE, however little room is left", async () => {
    begin(service.url, tenant.apiKey, announced).write(" ".repeat(15_000_000));
    const larger = begin(service.url, tenant.apiKey, `Content-Length: ${LARGE_BYTES + 1}`);
    await until(() => statusOf(larger) === 413, "the answer");
  });

  test("that arrive too slowly are ended with Retry-After", async () => {
    const trickling = [announced, "Transfer-Encoding: chunked", "Content-Length: 1000"].map((framing) =>
      begin(service.url, tenant.apiKey, framing),
    );
    await until(() => trickling.every((one) => statusOf(one) === 503 && one.isClosed()), "them to end");
    for (const one of trickling) {
      expect(one.answer()).toMatch(/\r\nretry-after: \d+\r\n/i);
      expect(one.answer()).toContain("less than 4096 bytes a second");
    }
  });
});

describe("a bound that became NaN", () => {
  let service: TestProcess;
  beforeAll(async () => {
    service = await startTestProcess();
  });
  afterAll(async () => {
    await service.kill("SIGTERM");
    await rm(service.dataDir, { recursive: true, force: true });
  });

  const memoryBytesMax = async () => {
    const status = await readFile(`/proc/${service.pid}/status`, "utf8");
    return 1_024 * Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]);
  };

  test("holds after two equal Content-Length headers: 150 bodies of 16 MB at once stay within memory", async () => {
    const duplicateLength = begin(service.url, service.apiKey, "Content-Length: 12", "Content-Length: 12");
    duplicateLength.write('{"a":"abcd"}');
    await until(() => statusOf(duplicateLength) > 0, "the answer");
    expect(duplicateLength.answer()).toStartWith("HTTP/1.1 400");
    expect(duplicateLength.answer()).toContain('"code":"INVALID_REQUEST"');
    expect(duplicateLength.answer()).toContain("Content-Length");

    const before = await memoryBytesMax();
    const body = Buffer.from(JSON.stringify(message({ from: "hello@example.com" })).padEnd(LARGE_BYTES));
    const many = Array.from({ length: 150 }, () => begin(service.url, service.apiKey, announced));
    for (const one of many) one.write(body);
    await until(() => many.every((one) => statusOf(one) > 0 || one.isClosed()), "all to be answered", 50_000);
    expect(many.some((one) => statusOf(one) === 202)).toBeTrue();
    // The default bound is 64 MiB, which on their way through are several times that.
    expect((await memoryBytesMax()) - before).toBeLessThan(700_000_000);
  });
});

describe("room for bodies", () => {
  const BYTES_MAX = 64_000_000;
  const refusalOf = (read: () => void): Problem | null => {
    try {
      read();
      return null;
    } catch (error) {
      if (error instanceof Problem) return error;
      throw error;
    }
  };
  const waitFor = (body: IncomingBody) => {
    const ended = body.next(new Promise<never>(() => {}));
    ended.catch(() => {});
    return ended;
  };

  test("is at most half for one workspace, and the rest for the others", () => {
    const bodies = new BodyAdmissionControl(BYTES_MAX);
    for (const _ of [1, 2]) bodies.open("one").admit(LARGE_BYTES);
    expect(refusalOf(() => bodies.open("one").admit(100_000))?.status).toBe(503);
    expect(refusalOf(() => bodies.open("other").admit(LARGE_BYTES))).toBeNull();
    bodies.stop();
  });

  test("is reserved in part for small bodies", () => {
    const bodies = new BodyAdmissionControl(BYTES_MAX);
    for (const name of ["a", "b", "c"]) bodies.open(name).admit(LARGE_BYTES);
    bodies.open("d").admit(8_000_000);
    expect(refusalOf(() => bodies.open("e").admit(100_000))?.status).toBe(503);
    expect(refusalOf(() => bodies.open("e").admit(60_000))).toBeNull();
    bodies.stop();
  });

  test("is taken from the slowest bodies still arriving, and never from those being processed", async () => {
    const bodies = new BodyAdmissionControl(BYTES_MAX);
    const worked = bodies.open("one");
    worked.admit(4_000_000);
    const [slow, slower] = [bodies.open("one"), bodies.open("one")];
    slow.admit(14_000_000);
    slower.admit(12_000_000);
    const [slowEnds, slowerEnds] = [waitFor(slow), waitFor(slower)];
    // It brings so much at once that it is the fastest; ending the slowest of the others is enough.
    const fast = bodies.open("one");
    fast.admit(1_500_000);
    expect(refusalOf(() => fast.admit(2_000_000))?.status).toBe(503);
    fast.pass(15_000_000);
    fast.admit(12_000_000);
    expect(await slowerEnds.catch(({ status }) => status)).toBe(503);
    slow.release();
    worked.release();
    void slowEnds;
    bodies.stop();
  });

  test("is not kept for ever by one that came fast and then trickles", async () => {
    const bodies = new BodyAdmissionControl(BYTES_MAX);
    const body = bodies.open("one");
    body.admit(LARGE_BYTES);
    const ended = waitFor(body);
    const later = performance.now() + 8.1 * MINUTE_MS;
    const now = spyOn(performance, "now").mockReturnValue(later);
    await expect(ended).rejects.toMatchObject({
      status: 503,
      message: "the body took more than 8 minutes to arrive",
    });
    now.mockRestore();
    for (const _ of [1, 2]) expect(refusalOf(() => bodies.open("one").admit(LARGE_BYTES))).toBeNull();
    bodies.stop();
  });

  test("is counted only in whole numbers", () => {
    const bodies = new BodyAdmissionControl(BYTES_MAX);
    for (const bytes of [Number.NaN, -1, 0.5, Number.POSITIVE_INFINITY]) {
      expect(() => bodies.open("one").admit(bytes)).toThrow("whole number");
    }
    bodies.stop();
  });
});
