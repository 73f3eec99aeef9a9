import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { requestLog } from "../../../src/http/server/requestLog.ts";
import { loggedPath } from "../../../src/http/server/routeMatching.ts";
import { callerOf, startTestApp, startTestProcess, type TestProcess } from "../../support/service.ts";
import { message, newKey } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const START_MS = 60_000;
const EXPIRES_IN_MS = 1_000;

const line = (status: number, path = "/") => ({
  requestId: "r",
  method: "GET",
  path,
  status,
  code: null,
  workspaceId: null,
  durationMs: 1,
});

function world(isWhole = false) {
  const lines: string[] = [];
  let endWindows: (() => void)[] = [];
  const write = (level: string) => (fields: { omitted?: number; status?: number }, text: string) =>
    void lines.push(`${level} ${fields.omitted ?? fields.status ?? ""} ${text}`);
  const log = requestLog({
    isWhole,
    lines: { info: write("info"), warn: write("warn"), error: write("error") },
    after: (_delayMs, callback) => void endWindows.push(callback),
  });
  return {
    lines,
    end: (status: number, times = 1, hasHungUp = false) => {
      for (let count = 0; count < times; count += 1)
        log.answered({ status, hasHungUp, hasEndedKey: false, line: () => line(status) });
    },
    endOf: (path: string, status: number) =>
      log.answered({ status, hasHungUp: false, hasEndedKey: false, line: () => line(status, path) }),
    endWithEndedKey: (times: number) => {
      for (let count = 0; count < times; count += 1)
        log.answered({ status: 401, hasHungUp: false, hasEndedKey: true, line: () => line(401) });
    },
    endWindow() {
      const callbacks = endWindows;
      endWindows = [];
      for (const callback of callbacks) callback();
    },
  };
}

describe("lines of requests", () => {
  test("are those that failed", () => {
    const { lines, end } = world();
    for (const status of [200, 202, 304, 404, 503]) end(status);
    expect(lines).toEqual(["info 404 refused", "error 503 failed"]);
  });

  test("are no errors for a service that says that it is not ready yet, as it does at each start", () => {
    const { lines, endOf } = world();
    endOf("/health/ready", 503);
    expect(lines).toEqual(["info 503 not ready"]);
  });

  test("come up to a rate; then they are counted in one, and it begins anew", () => {
    const { lines, end, endWindow } = world();
    end(401, 5_000);
    expect(lines).toHaveLength(100);
    endWindow();
    expect(lines.at(-1)).toBe("warn 4900 further refused requests were not logged one by one");
    end(401, 1);
    endWindow();
    expect(lines).toHaveLength(102);
  });

  test("of refusals, however many, leave room for those of failures", () => {
    const { lines, end } = world();
    end(401, 5_000);
    end(500);
    expect(lines.at(-1)).toBe("error 500 failed");
  });

  test("with keys that have ended are warnings, up to a rate of their own", () => {
    const { lines, end, endWithEndedKey, endWindow } = world();
    end(401, 5_000);
    endWithEndedKey(150);
    expect(lines.at(-1)).toBe("warn 401 refused an API key that was revoked or has expired");
    expect(lines).toHaveLength(200);
    endWindow();
    expect(lines.at(-1)).toBe("warn 50 further requests with ended API keys were not logged one by one");
  });

  test("omit clients that hung up, unless all requests are logged", () => {
    const some = world();
    some.end(500, 1, true);
    expect(some.lines).toEqual([]);
    const all = world(true);
    all.end(500, 1, true);
    all.end(202);
    expect(all.lines).toEqual(["info 499 the client hung up", "info 202 answered"]);
  });
});

describe("a path in the log", () => {
  test.each([
    ["/api/v1/emails", "/api/v1/emails"],
    ["/api/v1/emails/batch", "/api/v1/emails/batch"],
    ["/api/v1/emails/7f3c1f0e-1111-5111-8111-111111111111/cancel", "/api/v1/emails/:id/cancel"],
    ["/api/v1/suppressions/ana%40example.com", "/api/v1/suppressions/:address"],
    ["/senders/verify/secret", "/senders/verify/:token"],
    ["/pl_0123456789", "/…"],
    ["/api/v1/suppressions/ana@example.com/pl_0123456789", "/api/v1/suppressions/…/…"],
    ["/webhooks/pl_0123456789/x/y", "/webhooks/…/…/…"],
    [`/${"a/".repeat(1_000)}`, "/…/…/…/…/…/…/…/…"],
  ])("%s is %s", (path, logged) => {
    expect(loggedPath(path)).toBe(logged);
  });
});

/** Sends the head and the beginning of a body, waits until the service has seen them, and hangs up. */
async function hangUp(service: TestProcess, head: readonly string[], body: string): Promise<void> {
  const socket = connect(Number(new URL(service.url).port), "127.0.0.1");
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("connect", resolve));
  await new Promise((resolve) =>
    socket.write(`${[...head, "Host: x"].join("\r\n")}\r\n\r\n${body}`, resolve),
  );
  socket.destroy();
  await new Promise((resolve) => socket.once("close", resolve));
}

describe("the log of a service", () => {
  test(
    "reports a hang-up as such, and shows no key and no address of any path",
    async () => {
      const service = await startTestProcess({ env: { LOG_REQUESTS: "all" } });
      try {
        const auth = `Authorization: Bearer ${service.apiKey}`;
        const json = [auth, "Idempotency-Key: hangs-up-0001", "Content-Type: application/json"];
        const bodies: readonly (readonly [readonly string[], string])[] = [
          [["POST /api/v1/emails HTTP/1.1", ...json, "Content-Length: 500"], '{"from":'],
          [["POST /api/v1/emails HTTP/1.1", ...json, "Content-Length: 500000"], '{"from":'],
          [["POST /api/v1/emails HTTP/1.1", ...json, "Transfer-Encoding: chunked"], '8\r\n{"from":\r\n'],
          [
            [
              "POST /api/v1/attachments HTTP/1.1",
              auth,
              "Content-Type: multipart/form-data; boundary=x",
              "Content-Length: 500",
            ],
            '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nabc',
          ],
        ];
        for (const [head, body] of bodies) await hangUp(service, head, body);
        const hangUps = () => service.log().split('"msg":"the client hung up"').length - 1;
        await until(() => hangUps() === bodies.length, "the hang-ups in the log");
        const address = "private.person%40example.org";
        for (const path of [
          `/${service.apiKey}`,
          `/api/v1/suppressions/${address}`,
          `/${address}/${service.apiKey}`,
        ])
          await service.call("GET", `${path}?to=${address}`, { headers: { authorization: null } });
        const last = await service.call("GET", "/nothing");
        await until(() => service.log().includes(last.json.request_id), "the last request in the log");
        expect(service.log()).not.toContain('"level":50');
        for (const word of [service.apiKey, "private.person"]) expect(service.log()).not.toContain(word);
      } finally {
        await service.kill("SIGTERM");
      }
    },
    START_MS,
  );
});

test(
  "refused requests beyond the limit are counted in a line when the service stops",
  async () => {
    const service = await startTestProcess();
    for (let count = 0; count < 103; count += 1) await service.call("GET", "/nothing");
    expect(await service.kill("SIGTERM")).toBe(0);
    const lines = service.log().split("\n");
    const counting = lines.findIndex((line) => line.includes("further refused requests were not logged"));
    expect(JSON.parse(lines[counting] ?? "{}")).toMatchObject({ omitted: 3 });
    expect(lines.findIndex((line) => line.includes('"msg":"stopped"'))).toBeGreaterThan(counting);
  },
  START_MS,
);

test(
  "a key that was revoked or has expired is named in a warning, and never shown",
  async () => {
    const service = await startTestProcess();
    try {
      const { id: workspaceId } = (await service.call("GET", "/api/v1/workspace")).json;
      const issue = async (expiresAt: string | null) => {
        const body = { name: "shop", scopes: ["email:read"], expires_at: expiresAt };
        return (await service.call("POST", "/api/v1/api-keys", { body })).json;
      };
      const expiring = await issue(new Date(Date.now() + EXPIRES_IN_MS).toISOString());
      const revoked = await issue(null);
      await service.call("POST", `/api/v1/api-keys/${revoked.id}/revoke`);
      const statusWith = async (key: string) =>
        (await callerOf(service.url, key).call("GET", "/api/v1/emails")).status;
      await until(async () => (await statusWith(expiring.key)) === 401, "the key to expire");
      expect(await statusWith(revoked.key)).toBe(401);
      const secret = new URLSearchParams({ secret: revoked.key });
      const headers = { "sec-fetch-site": "same-origin" };
      const logIn = { method: "POST", body: secret, headers };
      expect((await fetch(`${service.url}/dashboard/log-in`, logIn)).status).toBe(401);
      const warnings = () =>
        service
          .log()
          .split("\n")
          .filter((text) => text.includes('"keyId"'));
      await until(() => warnings().length === 3, "the lines of the three");
      const shared = { level: 40, status: 401, workspaceId };
      const inApi = { ...shared, path: "/api/v1/emails", code: "UNAUTHORIZED" };
      expect(warnings().map((text) => JSON.parse(text))).toMatchObject([
        { ...inApi, keyId: expiring.id, keyStatus: "expired" },
        { ...inApi, keyId: revoked.id, keyStatus: "revoked" },
        { ...shared, keyId: revoked.id, keyStatus: "revoked" },
      ]);
      // A request that its key may not make, or not now, is the workspace's, too.
      const reading = await issue(null);
      expect((await callerOf(service.url, reading.key).call("GET", "/webhooks")).status).toBe(403);
      await until(() => service.log().includes('"code":"FORBIDDEN"'), "the line of the refusal");
      const refusal = service
        .log()
        .split("\n")
        .find((text) => text.includes('"code":"FORBIDDEN"'));
      expect(JSON.parse(refusal ?? "{}")).toMatchObject({ status: 403, workspaceId });
      for (const { key } of [expiring, revoked]) expect(service.log()).not.toContain(key);
    } finally {
      await service.kill("SIGTERM");
    }
  },
  START_MS,
);

describe("a batch in the log", () => {
  test(
    "leaves a line for each of its sends that is refused, as if it had come alone",
    async () => {
      const service = await startTestProcess();
      try {
        const valid = message({ idempotency_key: newKey(), from: "hello@example.com" });
        const emails = [
          valid,
          { ...valid, idempotency_key: newKey(), to: "nobody" },
          { ...valid, subject: "Other" },
        ];
        const batch = await service.call("POST", "/api/v1/emails/batch", { body: { emails } });
        expect(batch.status).toBe(200);
        const last = await service.call("GET", "/nothing");
        await until(() => service.log().includes(last.json.request_id), "the last request in the log");
        const lines = service
          .log()
          .split("\n")
          .filter((text) => text.includes("/api/v1/emails/batch"))
          .map((text) => JSON.parse(text));
        const shared = { requestId: batch.headers.get("x-request-id"), method: "POST", msg: "refused" };
        expect(lines).toMatchObject([
          { ...shared, status: 400, code: "INVALID_REQUEST" },
          { ...shared, status: 409, code: "IDEMPOTENCY_CONFLICT" },
        ]);
        for (const line of lines) expect(line.workspaceId).toBeString();
      } finally {
        await service.kill("SIGTERM");
      }
    },
    START_MS,
  );
});

describe("answers to callers with a key", () => {
  test("are kept by nobody on the way, and taken for nothing else", async () => {
    const app = await startTestApp();
    const own = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
    try {
      const answers = [
        await app.send(newKey(), message({ from: "hello@example.com" })),
        await app.send("short", message({ from: "hello@example.com" })),
        await app.call("GET", "/api/v1/emails"),
        await app.call("GET", "/api/v1/emails", { headers: { authorization: null } }),
        await app.call("GET", "/api/v1/emails/none"),
        await app.call("PUT", "/api/v1/emails"),
        await app.call("GET", "/%ff"),
        await app.call("GET", "/webhooks"),
        await app.call("GET", "/nothing"),
        await app.call("GET", "/health/live"),
      ];
      for (const { headers } of answers) expect(Object.fromEntries(headers)).toMatchObject(own);
      const docs = await app.call("GET", "/docs");
      expect(docs.headers.get("cache-control")).toBe("public, no-cache");
    } finally {
      await app.remove();
    }
  });
});
