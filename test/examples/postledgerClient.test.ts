import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { once } from "node:events";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type AcceptedEmail,
  type ClientOptions,
  type NewEmail,
  PostledgerClient,
  PostledgerError,
} from "../../examples/postledgerClient.ts";
import { PAGES } from "../docs/pages.ts";
import { runProcess } from "../support/process/runProcess.ts";
import { ROOT } from "../support/root.ts";
import { testStores } from "../support/stores/stores.ts";
import { message, newKey, SENDER, startService, type Tenant, type TestService } from "../support/tenants.ts";
import { until } from "../support/until.ts";

const COMPILE_MS_MAX = 60_000;
const TSC = join(ROOT, "node_modules/.bin/tsc");

/** What befalls a request on its way: its answer is lost, or it never arrives and is answered with this. */
type Failure =
  | "answer is lost"
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };

const mail = (parts: Readonly<Record<string, unknown>> = {}) => message(parts) as unknown as NewEmail;

async function errorOf(call: Promise<unknown>): Promise<PostledgerError> {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof PostledgerError)) throw new Error(`not refused as expected: ${error}`);
  return error;
}

/** Compiles the page's program as a project for Node does, and returns where it is. */
async function compileForNode(folder: string): Promise<string> {
  const page = PAGES.find(({ path }) => path === "docs/clients.md");
  const [send = "", list = ""] =
    page?.blocks.flatMap(({ language, text }) => (language === "ts" ? [text] : [])) ?? [];
  const program = `${send}\n${list}`
    .replace('"http://127.0.0.1:3000"', 'process.env.POSTLEDGER_URL ?? ""')
    .replace('"bounced"', '"queued"');
  const client = await Bun.file(join(ROOT, "examples/postledgerClient.ts")).text();
  const options = { module: "NodeNext", strict: true, types: ["node"], outDir: "out" };
  const files = {
    "program.ts": program,
    "postledgerClient.ts": client,
    "package.json": '{ "type": "module" }',
    "tsconfig.json": JSON.stringify({ compilerOptions: options }),
  };
  for (const [name, text] of Object.entries(files)) await Bun.write(join(folder, name), text);
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const { exitCode, out } = await runProcess([process.execPath, TSC, "-p", folder], { env: process.env });
  expect({ exitCode, out }).toEqual({ exitCode: 0, out: "" });
  return join(folder, "out/program.js");
}

let folder: string;
let compiled: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "postledger-client-"));
  compiled = await compileForNode(folder);
}, COMPILE_MS_MAX);
afterAll(() => rm(folder, { recursive: true }));

describe.each(await testStores())("the client of the example, against a service on $name", (store) => {
  let service: TestService;
  let tenant: Tenant;
  /** Of the requests to come, in their order; then nothing happens any more. */
  let failures: Failure[] = [];
  const seen: { readonly method: string; readonly key: unknown }[] = [];
  const way = createServer(async (request, response) => {
    const { method = "", headers } = request;
    seen.push({ method, key: headers["idempotency-key"] });
    const failure = failures.shift();
    const parts = await Array.fromAsync(request).catch(() => null);
    // The client has hung up.
    if (parts === null) return;
    const body = Buffer.concat(parts);
    if (typeof failure === "object") {
      response.writeHead(failure.status, failure.headers).end(failure.body);
      return;
    }
    const { authorization = "", "content-type": type = "", "idempotency-key": key = "" } = headers;
    const forwarded = await fetch(new URL(request.url ?? "", service.url), {
      method,
      headers: { authorization, "content-type": type, "idempotency-key": String(key) },
      ...(method === "GET" ? {} : { body }),
    });
    const text = await forwarded.text();
    if (failure === "answer is lost") request.socket.destroy();
    else response.writeHead(forwarded.status, { "content-type": "application/json" }).end(text);
  });
  const client = (options: Partial<ClientOptions> = {}) =>
    new PostledgerClient({
      url: `http://127.0.0.1:${(way.address() as AddressInfo).port}`,
      apiKey: tenant.apiKey,
      ...options,
    });

  beforeAll(async () => {
    await once(way.listen(0, "127.0.0.1"), "listening");
    service = await startService(store);
    tenant = await service.tenant();
  });
  afterEach(() => {
    failures = [];
    seen.length = 0;
  });
  afterAll(async () => {
    way.close();
    way.closeAllConnections();
    await service.remove();
  });

  test("sends, and says what is wrong with a send", async () => {
    const idempotencyKey = newKey();
    const accepted = await client().send(mail(), { idempotencyKey });
    expect(accepted).toMatchObject({ object: "email", status: "queued" });
    expect(await client().send(mail(), { idempotencyKey })).toEqual(accepted);
    const conflict = await errorOf(client().send(mail({ subject: "Another" }), { idempotencyKey }));
    expect(conflict).toMatchObject({ status: 409, code: "IDEMPOTENCY_CONFLICT", retryable: false });
    expect(conflict.requestId).toMatch(/^[a-z0-9]{20}$/);
    const invalid = await errorOf(client().send({ from: SENDER, to: "nobody" }));
    expect(invalid.errors.map(({ pointer }) => pointer)).toContain("/to");
    expect(seen).toHaveLength(4);
  });

  test("repeats a send with its key until there is an answer, and makes one message", async () => {
    failures = [
      { status: 502, body: "<h1>Bad gateway</h1>" },
      "answer is lost",
      { status: 429, headers: { "retry-after": "1" }, body: '{"code":"RATE_LIMITED","retryable":true}' },
    ];
    const subject = newKey();
    const accepted = await client().send(mail({ subject }));
    expect(seen).toHaveLength(4);
    expect(new Set(seen.map(({ key }) => key)).size).toBe(1);
    const sent: AcceptedEmail[] = [];
    for await (const email of client().list<AcceptedEmail & { subject: string }>("/api/v1/emails"))
      if (email.subject === subject) sent.push(email);
    expect(sent.map(({ id }) => id)).toEqual([accepted.id]);
  });

  test("repeats nothing that could be done twice", async () => {
    failures = [{ status: 503 }];
    const error = await errorOf(client().call("POST", "/api/v1/templates", { body: { name: "Welcome" } }));
    expect(error).toMatchObject({ status: 503, code: "HTTP_503", retryable: true });
    expect(seen).toHaveLength(1);
  });

  test("gives up when its time is over, with the reason of the last try", async () => {
    const unreachable = new PostledgerClient({ url: "http://127.0.0.1:1/", apiKey: "pl_x", callMs: 300 });
    const error = await errorOf(unreachable.send(mail()));
    expect(error).toMatchObject({ status: null, code: "NO_ANSWER", retryable: true });
    expect(error.cause).toBeInstanceOf(Error);
  });

  test("ends at the caller's signal, also between two tries", async () => {
    const caller = new AbortController();
    failures = [{ status: 503, headers: { "retry-after": "3600" } }];
    const call = client({ callMs: 7_200_000 }).send(mail(), { signal: caller.signal });
    await until(() => seen.length === 1, "the first attempt");
    caller.abort(new Error("stopped by the test"));
    await expect(call).rejects.toThrow("stopped by the test");
  });

  test("lists webhook endpoints, which come without a cursor", async () => {
    const url = "https://shop.example.org/hooks";
    await client().call("POST", "/webhooks", { body: { url } });
    const found = await Array.fromAsync(client().list<{ url: string }>("/webhooks"));
    expect(found.map((endpoint) => endpoint.url)).toEqual([url]);
  });

  test("lists page by page, and no further than it is asked", async () => {
    for (let nth = 0; nth < 5; nth += 1) await client().send(mail({ subject: `Page ${nth}` }));
    seen.length = 0;
    const subjects: string[] = [];
    for await (const { subject } of client().list<{ subject: string }>("/api/v1/emails", {
      query: { limit: 2 },
    })) {
      subjects.push(subject);
      if (subjects.length === 3) break;
    }
    expect(subjects).toEqual(["Page 4", "Page 3", "Page 2"]);
    expect(seen).toHaveLength(2);
  });

  test("does what the page about it shows", async () => {
    const caller = await service.tenant({ sender: "hello@example.com" });
    const { out, err } = await runProcess([process.execPath, compiled], {
      env: { ...process.env, POSTLEDGER_URL: service.url, POSTLEDGER_API_KEY: caller.apiKey },
    });
    const [accepted = "", ...listed] = out.trim().split("\n");
    expect(err).toBe("");
    expect(accepted).toMatch(/^accepted as [0-9a-f-]{36}$/);
    expect(listed).toContain(`${accepted.slice(-36)} queued`);
  });
});
