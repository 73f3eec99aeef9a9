import {
  afterAll,
  afterEach,
  beforeAll,
  describe,
  expect,
  mock,
  setDefaultTimeout,
  spyOn,
  test,
} from "bun:test";
import { BATCH_EMAILS_MAX } from "../../src/http/email/emailBatch.ts";
import { expectProblem } from "../support/expectProblem.ts";
import type { Answer } from "../support/service.ts";
import { sqliteStore } from "../support/stores/stores.ts";
import { message, newKey, startService, type Tenant, type TestService } from "../support/tenants.ts";
import { until } from "../support/until.ts";

setDefaultTimeout(60_000);

/** For what does not depend on the store. */
const sqlite = [sqliteStore];

const LOOP = "{% for i in (1..5000) %}{% assign y = i | plus: 1 %}{% endfor %}";
/** More than a workspace may use at once. */
const ATTEMPTS_MAX = 50;
const LATER_US = 300_000;

describe.each(sqlite)("templates that take long on $name", (store) => {
  let service: TestService;
  let tenant: Tenant;
  let other: Tenant;
  beforeAll(async () => {
    service = await startService(store);
    other = await service.tenant();
  });
  afterEach(() => void mock.restore());
  afterAll(() => service.remove());

  const published = async (caller: Tenant, text: string) => {
    const { json: template } = await caller.call("POST", "/api/v1/templates", { body: { name: "Long" } });
    const path = `/api/v1/templates/${template.id}/versions`;
    const { json: version } = await caller.call("POST", path, { body: { subject: "Long", text } });
    await caller.call("POST", `${path}/${version.id}/publish`);
    return { id: template.id as string, versions: path, version: version.id as string };
  };
  const sendWith = (caller: Tenant, id: string, key = newKey()) =>
    caller.send(key, message({ subject: undefined, text: undefined, template_id: id }));

  /** Each time the scheduler or a render looks, another 300 ms of processor time have passed. */
  function slowDownProcessor(): void {
    const before = process.threadCpuUsage.bind(process);
    let spent = 0;
    spyOn(process, "threadCpuUsage").mockImplementation(() => {
      spent += LATER_US;
      const { user, system } = before();
      return { user: user + spent, system };
    });
  }

  /** Repeats a request until it is refused for its rate. */
  async function untilRefused(request: () => Promise<Answer>): Promise<Answer> {
    for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts += 1) {
      const answer = await request();
      if (answer.status === 429) return answer;
    }
    throw new Error("no request was refused");
  }

  const expectRefusal = (answer: Answer) => {
    expectProblem(answer, 429, "RATE_LIMITED");
    expect(answer.json.detail).toContain("templates");
    expect(Number(answer.headers.get("retry-after"))).toBeWithin(1, 20);
  };

  test("are refused beyond the workspace's allowance, until it recovers; nothing else is", async () => {
    tenant = await service.tenant();
    const [long, short, others] = await Promise.all([
      published(tenant, `${LOOP}x`),
      published(tenant, "x"),
      published(other, "x"),
    ]);
    const key = newKey();
    expect((await sendWith(tenant, short.id, key)).status).toBe(202);
    slowDownProcessor();
    expectRefusal(await untilRefused(() => sendWith(tenant, long.id)));
    // An accepted send is answered as before, because its retry is looked for first.
    const { status, headers } = await sendWith(tenant, short.id, key);
    expect([status, headers.get("idempotent-replayed")]).toEqual([202, "true"]);
    expectRefusal(await tenant.call("POST", `${short.versions}/${short.version}/preview`, { body: {} }));
    expect((await tenant.send(newKey(), message())).status).toBe(202);
    expect((await sendWith(other, others.id)).status).toBe(202);
    mock.restore();
    await until(async () => (await sendWith(tenant, short.id)).status === 202, "the allowance to recover");
  });

  test("are refused within a batch, each for itself", async () => {
    tenant = await service.tenant();
    const long = await published(tenant, `${LOOP}x`);
    slowDownProcessor();
    await untilRefused(() => sendWith(tenant, long.id));
    const { subject: _, text: __, ...rest } = message({ template_id: long.id });
    const emails = [{ ...rest, idempotency_key: newKey() }, message({ idempotency_key: newKey() })];
    const { json } = await tenant.call("POST", "/api/v1/emails/batch", { body: { emails } });
    expect(json.data[0]).toMatchObject({ status: 429, code: "RATE_LIMITED", retryable: true });
    expect(json.data[1].status).toBe("queued");
  });

  test("count when they are drafted and refused", async () => {
    tenant = await service.tenant();
    const { versions } = await published(tenant, "x");
    const text = "{% assign a = b %}".repeat(2_500);
    slowDownProcessor();
    const draft = () => tenant.call("POST", versions, { body: { subject: "Long", text } });
    expect((await draft()).status).toBe(400);
    expectRefusal(await untilRefused(draft));
  });

  test("are left when the client of a batch disconnects", async () => {
    tenant = await service.tenant();
    const long = await published(tenant, `${LOOP}x`);
    const { subject: _, text: __, ...rest } = message({ template_id: long.id });
    const emails = Array.from({ length: BATCH_EMAILS_MAX }, () => ({ ...rest, idempotency_key: newKey() }));
    const accepted = async () => (await tenant.call("GET", "/api/v1/emails?limit=100")).json.data.length;
    const client = new AbortController();
    const sent = fetch(`${service.url}/api/v1/emails/batch`, {
      method: "POST",
      headers: { authorization: `Bearer ${tenant.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ emails }),
      signal: client.signal,
    }).catch(() => null);
    await until(async () => (await accepted()) > 0, "the first of them to be accepted");
    client.abort();
    await sent;
    let [known, polls] = [0, 0];
    const hasEnded = async () => {
      const now = await accepted();
      polls = now === known ? polls + 1 : 0;
      known = now;
      return polls > 20;
    };
    await until(hasEnded, "the batch to end");
    expect(known).toBeLessThan(BATCH_EMAILS_MAX);
  });
});
