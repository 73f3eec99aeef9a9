import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  expectTypeOf,
  spyOn,
  test,
} from "bun:test";
import { once } from "node:events";
import { symlink } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import {
  type AcceptedEmail,
  type BatchedEmail,
  type ClientOptions,
  type EmailStatus,
  type NewEmail,
  PostledgerClient,
  PostledgerError,
  type ProblemCode,
} from "../../examples/postledgerClient.ts";
import type { AcceptedAs } from "../../src/domain/email/events.ts";
import type { EmailStatus as ServiceEmailStatus } from "../../src/domain/email/state.ts";
import type {
  BatchedEmail as BatchedEmailBody,
  SendEmailBody,
} from "../../src/http/email/sendEmailSchema.ts";
import type { ProblemCode as ServiceProblemCode } from "../../src/http/server/problemCodes.ts";
import { PAGES } from "../docs/pages.ts";
import { runProcess } from "../support/process/runProcess.ts";
import { ROOT } from "../support/root.ts";
import { testStores } from "../support/stores/stores.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { message, newKey, SENDER, startService, type Tenant, type TestService } from "../support/tenants.ts";
import { until } from "../support/until.ts";

const COMPILE_MS_MAX = 60_000;
const TSC = join(ROOT, "node_modules/.bin/tsc");

/** What befalls a request on its way: its answer is lost, or it never arrives and is answered with this, or not at all. */
type Failure =
  | "answer is lost"
  | "no answer"
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };

/** The way to a service. */
interface Way {
  readonly url: string;
  /** Of the requests to come, in their order; then nothing happens any more. */
  failures: Failure[];
  /** The requests that came, in full. */
  readonly seen: { readonly method: string; readonly key: unknown; readonly body: string }[];
  /** Called with each piece of a body, while the rest waits. */
  onBytes: (bytes: number) => void;
  close(): void;
}

async function bodyOf(
  request: AsyncIterable<Buffer>,
  onBytes: (bytes: number) => void,
): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  try {
    for await (const part of request) {
      parts.push(part);
      onBytes(part.length);
    }
  } catch {
    return null;
  }
  return Buffer.concat(parts);
}

async function openWay(serviceUrl: () => string): Promise<Way> {
  const server = createServer(async (request, response) => {
    const { method = "", headers } = request;
    const failure = way.failures.shift();
    const body = await bodyOf(request, (bytes) => way.onBytes(bytes));
    // The client has hung up.
    if (body === null) return;
    way.seen.push({ method, key: headers["idempotency-key"], body: body.toString() });
    if (failure === "no answer") return;
    if (typeof failure === "object") {
      response.writeHead(failure.status, failure.headers).end(failure.body);
      return;
    }
    const forwarded = await fetch(new URL(request.url ?? "", serviceUrl()), {
      method,
      headers: headers as Record<string, string>,
      ...(method === "GET" ? {} : { body }),
    });
    const text = await forwarded.text();
    if (failure === "answer is lost") request.socket.destroy();
    else response.writeHead(forwarded.status, { "content-type": "application/json" }).end(text);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const way: Way = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    failures: [],
    seen: [],
    onBytes: () => {},
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return way;
}

/** As the example writes its types. */
type Frozen<Value> = Value extends object ? { readonly [Name in keyof Value]: Frozen<Value[Name]> } : Value;

const mail = (parts: Readonly<Record<string, unknown>> = {}) => message(parts) as unknown as NewEmail;

const batched = (parts: Readonly<Record<string, unknown>> = {}) =>
  ({ idempotency_key: newKey(), ...mail(parts) }) satisfies BatchedEmail;

/** Of each call of a batch, the keys of its messages. */
const batchedKeys = (calls: readonly { readonly body: string }[]) =>
  calls.map(({ body }) => JSON.parse(body).emails.map((email: BatchedEmail) => email.idempotency_key));

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
  const [send = "", batch = "", list = ""] =
    page?.blocks.flatMap(({ language, text }) => (language === "ts" ? [text] : [])) ?? [];
  const program = [send, batch, list]
    .join("\n")
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

const folder = temporaryFolder();
let compiled: string;
beforeAll(async () => {
  compiled = await compileForNode(folder);
}, COMPILE_MS_MAX);

test("has the types of what the OpenAPI document is made from", () => {
  expectTypeOf<Frozen<NewEmail>>().toEqualTypeOf<Frozen<SendEmailBody>>();
  expectTypeOf<Frozen<BatchedEmail>>().toEqualTypeOf<Frozen<BatchedEmailBody>>();
  expectTypeOf<AcceptedEmail["status"]>().toEqualTypeOf<AcceptedAs>();
  expectTypeOf<EmailStatus>().toEqualTypeOf<ServiceEmailStatus>();
  expectTypeOf<ProblemCode>().toEqualTypeOf<ServiceProblemCode>();
});

describe("the client of the example, if the way or the service is bad", () => {
  let way: Way;
  const client = (options: Partial<ClientOptions> = {}) =>
    new PostledgerClient({ url: way.url, apiKey: "pl_x", ...options });
  const json = (status: number, body: unknown) => ({ status, body: JSON.stringify(body) });
  const receipt = (id: string) => ({ id, object: "email", status: "queued" });
  const refusal = (code: string, retryAfter?: number) => ({
    code,
    retryable: retryAfter !== undefined,
    retry_after: retryAfter,
  });
  beforeEach(async () => {
    way = await openWay(() => "");
  });
  afterEach(() => way.close());

  test("leaves a large body the time that it needs on a slow link", async () => {
    const bytesPerMs = 150;
    const limits: { readonly ms: number; readonly timeout: AbortController }[] = [];
    const clock = spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
      const timeout = new AbortController();
      limits.push({ ms, timeout });
      return timeout.signal;
    });
    // Time passes as bytes do.
    let passedMs = 0;
    way.onBytes = (bytes) => {
      passedMs += bytes / bytesPerMs;
      for (const { ms, timeout } of limits) if (passedMs > ms) timeout.abort();
    };
    way.failures = [json(202, receipt("1"))];
    const file = { filename: "a.txt", content_type: "text/plain", content: "YWFh".repeat(1_600_000) };
    try {
      expect(await client().send(mail({ attachments: [file, file] }))).toMatchObject({ id: "1" });
      expect(passedMs).toBeGreaterThan(85_000);
    } finally {
      clock.mockRestore();
    }
  });

  test("gives up when its time is over, with the reason of the last try", async () => {
    way.failures = ["no answer"];
    const begunAt = performance.now();
    const error = await errorOf(client({ callMs: 300 }).send(mail()));
    expect(performance.now() - begunAt).toBeLessThan(10_000);
    expect(error).toMatchObject({ status: null, code: "NO_ANSWER", retryable: true, retryAfterMs: null });
    expect(error.cause).toMatchObject({ name: "TimeoutError" });
  });

  test("says at once when to come again, where that is later than its time", async () => {
    const headers = { "retry-after": "3600" };
    way.failures = [{ ...json(429, { code: "DAILY_LIMIT_REACHED", retryable: true }), headers }];
    const error = await errorOf(client().send(mail()));
    expect(error).toMatchObject({ code: "DAILY_LIMIT_REACHED", retryAfterMs: 3_600_000 });
    expect(way.seen).toHaveLength(1);
  });

  test("judges an answer that is no problem document by its status", async () => {
    way.failures = [json(404, { message: "no such host" })];
    expect(await errorOf(client().send(mail()))).toMatchObject({ code: "HTTP_404", retryable: false });
    expect(way.seen).toHaveLength(1);
  });

  test("sends messages of a batch again, after the longest of their waits that ends in time", async () => {
    const emails = [batched(), batched(), batched(), batched(), batched()];
    const [first, , third] = emails.map((email) => email.idempotency_key);
    const data = [
      refusal("RATE_LIMITED", 0.05),
      receipt("2"),
      refusal("INTERNAL_ERROR", 0.4),
      refusal("SENDING_PAUSED", 60),
      refusal("SENDER_UNAVAILABLE"),
    ];
    way.failures = [json(200, { data }), json(200, { data: [receipt("1"), receipt("3")] })];
    const begunAt = performance.now();
    const results = await client({ callMs: 30_000 }).sendBatch(emails);
    expect(performance.now() - begunAt).toBeGreaterThanOrEqual(399);
    expect(batchedKeys(way.seen).slice(1)).toEqual([[first, third]]);
    expect(results).toMatchObject([
      { id: "1" },
      { id: "2" },
      { id: "3" },
      { code: "SENDING_PAUSED", retryAfterMs: 60_000 },
      { code: "SENDER_UNAVAILABLE", retryable: false, retryAfterMs: null },
    ]);
  });

  test("a batch that is refused as a whole is the result of each of its messages", async () => {
    way.failures = [json(401, refusal("UNAUTHORIZED"))];
    const results = await client().sendBatch([batched(), batched()]);
    expect(results).toMatchObject(Array(2).fill({ status: 401, code: "UNAUTHORIZED" }));
    expect(way.seen).toHaveLength(1);
  });
});

describe.each(await testStores())("the client of the example, against a service on $name", (store) => {
  let service: TestService;
  let tenant: Tenant;
  let way: Way;
  const client = (options: Partial<ClientOptions> = {}) =>
    new PostledgerClient({ url: way.url, apiKey: tenant.apiKey, ...options });

  beforeAll(async () => {
    way = await openWay(() => service.url);
    service = await startService(store);
    tenant = await service.tenant();
  });
  afterEach(() => {
    way.failures = [];
    way.seen.length = 0;
  });
  afterAll(async () => {
    way.close();
    await service.remove();
  });

  test("sends, and says what is wrong with a send", async () => {
    const idempotencyKey = newKey();
    const accepted = await client().send(mail(), { idempotencyKey });
    expect(accepted).toMatchObject({ object: "email", status: "queued" });
    expect(await client().send(mail(), { idempotencyKey })).toEqual(accepted);
    const conflict = await errorOf(client().send(mail({ subject: "Another" }), { idempotencyKey }));
    const code = "IDEMPOTENCY_CONFLICT";
    expect(conflict).toMatchObject({ status: 409, code, retryable: false, emailId: accepted.id });
    expect(conflict.requestId).toMatch(/^[a-z0-9]{20}$/);
    const invalid = await errorOf(client().send({ from: SENDER, to: "nobody" }));
    expect(invalid.errors.map(({ pointer }) => pointer)).toContain("/to");
    expect(way.seen).toHaveLength(4);
  });

  test("repeats a send with its key until there is an answer, and makes one message", async () => {
    way.failures = [
      { status: 502, body: "<h1>Bad gateway</h1>" },
      "answer is lost",
      { status: 429, headers: { "retry-after": "1" }, body: '{"code":"RATE_LIMITED","retryable":true}' },
    ];
    const subject = newKey();
    const accepted = await client().send(mail({ subject }));
    expect(way.seen).toHaveLength(4);
    expect(new Set(way.seen.map(({ key }) => key)).size).toBe(1);
    const sent: AcceptedEmail[] = [];
    for await (const email of client().list<AcceptedEmail & { subject: string }>("/api/v1/emails"))
      if (email.subject === subject) sent.push(email);
    expect(sent.map(({ id }) => id)).toEqual([accepted.id]);
  });

  test("repeats nothing that could be done twice", async () => {
    way.failures = [{ status: 503 }];
    const error = await errorOf(client().call("POST", "/api/v1/templates", { body: { name: "Welcome" } }));
    expect(error).toMatchObject({ status: 503, code: "HTTP_503", retryable: true });
    expect(way.seen).toHaveLength(1);
  });

  test("sends a batch again after a broken connection, with a result for each message in their order", async () => {
    way.failures = ["answer is lost"];
    const key = newKey();
    const emails = [batched(), batched({ to: "nobody" }), batched({ idempotency_key: key })];
    const [first, refused, last] = await client().sendBatch(emails);
    expect(first).toMatchObject({ object: "email", status: "queued" });
    expect(refused).toBeInstanceOf(PostledgerError);
    expect(refused).toMatchObject({ code: "INVALID_REQUEST", errors: [{ pointer: "/to" }] });
    expect(batchedKeys(way.seen)).toEqual(Array(2).fill(emails.map((email) => email.idempotency_key)));
    const sent = client().list<AcceptedEmail>("/api/v1/emails", { query: { idempotency_key: key } });
    expect(await Array.fromAsync(sent)).toMatchObject([{ id: (last as AcceptedEmail).id }]);
  });

  test("ends at the caller's signal, also between two tries", async () => {
    const caller = new AbortController();
    way.failures = [{ status: 503, headers: { "retry-after": "3600" } }];
    const call = client({ callMs: 7_200_000 }).send(mail(), { signal: caller.signal });
    await until(() => way.seen.length === 1, "the first attempt");
    caller.abort(new Error("stopped by the test"));
    await expect(call).rejects.toThrow("stopped by the test");
  });

  test("lists webhook endpoints, which come without a cursor", async () => {
    const url = "https://shop.example.org/hooks";
    await client().call("POST", "/webhooks", { body: { url } });
    const found = await Array.fromAsync(client().list<{ url: string }>("/webhooks"));
    expect(found.map((endpoint) => endpoint.url)).toEqual([url]);
  });

  test("lists messages by their metadata", async () => {
    const { id } = await client().send(mail({ metadata: { order: 4711 } }));
    const query = { "metadata[order]": 4711 };
    const found = await Array.fromAsync(client().list<AcceptedEmail>("/api/v1/emails", { query }));
    expect(found.map((email) => email.id)).toEqual([id]);
  });

  test("lists page by page, and no further than it is asked", async () => {
    for (let nth = 0; nth < 5; nth += 1) await client().send(mail({ subject: `Page ${nth}` }));
    way.seen.length = 0;
    const subjects: string[] = [];
    for await (const { subject } of client().list<{ subject: string }>("/api/v1/emails", {
      query: { limit: 2 },
    })) {
      subjects.push(subject);
      if (subjects.length === 3) break;
    }
    expect(subjects).toEqual(["Page 4", "Page 3", "Page 2"]);
    expect(way.seen).toHaveLength(2);
  });

  test("does what the page about it shows", async () => {
    const caller = await service.tenant({ sender: "hello@example.com" });
    const { out, err } = await runProcess([process.execPath, compiled], {
      env: { ...process.env, POSTLEDGER_URL: service.url, POSTLEDGER_API_KEY: caller.apiKey },
    });
    const [accepted = "", ...listed] = out.trim().split("\n");
    expect(err).toBe("");
    expect(accepted).toMatch(/^accepted as [0-9a-f-]{36}$/);
    expect(listed).toContainEqual(expect.stringMatching(/^to ana@example.org: [0-9a-f-]{36}$/));
    expect(listed).toContain(`${accepted.slice(-36)} queued`);
  });
});
