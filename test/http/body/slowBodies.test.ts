import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { TOKEN_FIELD } from "../../../src/http/dashboard/components/form.tsx";
import { logIn } from "../../support/dashboard.ts";
import { runJsonCommand } from "../../support/process/jsonCommand.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { message, newKey, startService, type Tenant, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const TEST_MS_MAX = 120_000;
const REQUEST_TIMEOUT_MS = 2_000;
/** How long a revoked key may still work. */
const REVOKED_MS_MAX = 1_000;
/** The sends of the first test. */
const ACCEPTED = 3;

let service: TestService;
let tenant: Tenant;
const sockets: Socket[] = [];
beforeAll(async () => {
  service = await startService(sqliteStore, { REQUEST_TIMEOUT_MS: String(REQUEST_TIMEOUT_MS) });
  tenant = await service.tenant();
}, TEST_MS_MAX);
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await service.remove();
}, TEST_MS_MAX);

/** A request over a connection of its own, of which `first` is sent. `headers` say who asks. */
function begin(path: string, headers: readonly string[], first: string, at = service.url) {
  const { hostname, port } = new URL(at);
  let answer = "";
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  socket.setEncoding("utf8");
  socket.on("data", (text) => {
    answer += text;
  });
  const lines = [`POST ${path} HTTP/1.1`, "Host: localhost"];
  socket.write(`${[...lines, ...headers].join("\r\n")}\r\n\r\n${first}`);
  return { answer: () => answer, write: (text: string) => void socket.write(text) };
}

const bearer = (apiKey: string) => `Authorization: Bearer ${apiKey}`;

/** A send whose body is as long as `bytes`, half of which is sent; `isChunked`: without its length. */
function beginSend(bytes: number, { apiKey = tenant.apiKey, isChunked = false, at = service.url } = {}) {
  const body = JSON.stringify(message()).padEnd(bytes);
  const chunk = (text: string) => (isChunked ? `${text.length.toString(16)}\r\n${text}\r\n` : text);
  const framing = isChunked ? "Transfer-Encoding: chunked" : `Content-Length: ${bytes}`;
  const headers = ["Content-Type: application/json", `Idempotency-Key: ${newKey()}`, framing];
  const request = begin("/api/v1/emails", [bearer(apiKey), ...headers], chunk(body.slice(0, bytes / 2)), at);
  const rest = chunk(body.slice(bytes / 2)) + (isChunked ? "0\r\n\r\n" : "");
  return { ...request, finish: () => request.write(rest) };
}

/** An upload as a form, half of whose file is sent. */
function beginUpload(who = bearer(tenant.apiKey), path = "/api/v1/attachments") {
  const half = "x".repeat(50_000);
  const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n';
  const end = "\r\n--b--\r\n";
  const bytes = head.length + 2 * half.length + end.length;
  const headers = ["Content-Type: multipart/form-data; boundary=b", `Content-Length: ${bytes}`];
  const request = begin(path, [who, ...headers], head + half);
  return { ...request, finish: () => request.write(half + end) };
}

/** Two forms of the dashboard, half of each of which is sent: one that makes an API key, and one with a file. */
async function beginForms(apiKey: string) {
  const { cookie, formToken } = await logIn(service.url, apiKey);
  const token = await formToken();
  const form = new URLSearchParams({ [TOKEN_FIELD]: token, name: "late", scopes: "email:send" }).toString();
  const half = form.length / 2;
  const who = `Cookie: ${cookie}`;
  const headers = ["Content-Type: application/x-www-form-urlencoded", `Content-Length: ${form.length}`];
  const request = begin("/dashboard/api-keys/new", [who, ...headers], form.slice(0, half));
  const query = new URLSearchParams({ [TOKEN_FIELD]: token });
  return [
    { ...request, finish: () => request.write(form.slice(half)) },
    beginUpload(who, `/dashboard/attachments?${query}`),
  ];
}

test(
  "a body that is longer on its way than REQUEST_TIMEOUT_MS is accepted",
  async () => {
    const began = performance.now();
    const requests = [
      beginSend(200_000),
      beginSend(20_000),
      beginSend(200_000, { isChunked: true }),
      beginUpload(),
    ];
    await until(() => performance.now() - began > 1.5 * REQUEST_TIMEOUT_MS, "the time to pass");
    for (const { finish } of requests) finish();
    await until(() => requests.every(({ answer }) => answer() !== ""), "the answers");
    const statuses = requests.map(({ answer }) => answer().split(" ", 2)[1]);
    expect(statuses).toEqual(["202", "202", "202", "201"]);
  },
  TEST_MS_MAX,
);

test(
  "a body whose key is revoked while it is on its way is refused",
  async () => {
    const key = await tenant.withKey({});
    const requests = [beginSend(200_000, { apiKey: key.apiKey }), beginUpload(bearer(key.apiKey))];
    expect((await tenant.call("POST", `/api/v1/api-keys/${key.keyId}/revoke`)).status).toBe(200);
    const began = performance.now();
    await until(() => performance.now() - began > 1.5 * REVOKED_MS_MAX, "the key to stop working");
    for (const { finish } of requests) finish();
    await until(() => requests.every(({ answer }) => answer() !== ""), "the answers");
    expect(requests.map(({ answer }) => answer().split(" ", 2)[1])).toEqual(["401", "401"]);
    expect((await tenant.call("GET", "/api/v1/emails")).json.data).toHaveLength(ACCEPTED);
    expect((await tenant.call("GET", "/api/v1/attachments")).json.data).toHaveLength(1);
  },
  TEST_MS_MAX,
);

test(
  "a form of the dashboard whose session ends while it is on its way changes nothing",
  async () => {
    const key = await tenant.withKey({});
    const forms = await beginForms(key.apiKey);
    const keys = (await tenant.call("GET", "/api/v1/api-keys")).json.data.length;
    expect((await tenant.call("POST", `/api/v1/api-keys/${key.keyId}/revoke`)).status).toBe(200);
    const began = performance.now();
    await until(() => performance.now() - began > 1.5 * REVOKED_MS_MAX, "the session to end");
    for (const { finish } of forms) finish();
    await until(() => forms.every(({ answer }) => answer() !== ""), "the answers");
    const [made = "", uploaded = ""] = forms.map(({ answer }) => answer());
    expect(made).toStartWith("HTTP/1.1 401");
    expect(made).toContain("Your session has ended, and nothing was changed");
    expect(uploaded).toStartWith("HTTP/1.1 303");
    expect((await tenant.call("GET", "/api/v1/api-keys")).json.data).toHaveLength(keys);
    expect((await tenant.call("GET", "/api/v1/attachments")).json.data).toHaveLength(1);
  },
  TEST_MS_MAX,
);

test(
  "a store that does not answer in REQUEST_TIMEOUT_MS gets the send 503",
  async () => {
    const log = new DatabaseSync(join(service.app.dataDir, "events.db"));
    log.exec("BEGIN IMMEDIATE");
    try {
      const { status, json } = await tenant.send(newKey(), message());
      expect({ status, detail: json.detail }).toEqual({ status: 503, detail: "the request took too long" });
    } finally {
      log.exec("ROLLBACK");
      log.close();
    }
  },
  TEST_MS_MAX,
);

test(
  "a body that is still arriving when the log is frozen is refused, and holds up no export",
  async () => {
    const arriving = beginSend(200_000);
    const env = { DATA_DIR: service.app.dataDir };
    const out = join(service.app.dataDir, "export.zst");
    const exported = await runJsonCommand(env, "log", "export", "--freeze", "--out", out);
    expect(exported).toMatchObject({ exitCode: 0, json: { frozen: true, silent: [] } });
    await until(() => arriving.answer() !== "", "the answer");
    expect(arriving.answer()).toStartWith("HTTP/1.1 503");
    expect(arriving.answer()).toContain("the log is frozen");
  },
  TEST_MS_MAX,
);

test(
  "a body that is still arriving when the service stops is refused in half of DRAIN_TIMEOUT_MS",
  async () => {
    const stopping = await startService(sqliteStore, { DRAIN_TIMEOUT_MS: "4000" });
    const { apiKey } = await stopping.tenant();
    const arriving = beginSend(200_000, { apiKey, at: stopping.url });
    await until(() => stopping.app.app.inFlight().requests === 1, "the request to arrive");
    await stopping.remove();
    expect(arriving.answer()).toStartWith("HTTP/1.1 503");
    expect(arriving.answer()).toContain("the service is stopping");
  },
  TEST_MS_MAX,
);
