import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { emailStream } from "../../../src/domain/email/events.ts";
import { type RawSink, startRawSink } from "../../faults/crash/rawSink.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, startService, type Tenant, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const SECRET = "of-a-newer-version";
const INTERNAL = { status: 500, json: { code: "INTERNAL_ERROR" } };

describe.each(await testStores())("a message of which an event cannot be read, on $name", (store) => {
  let sink: RawSink;
  let service: TestService;
  let tenant: Tenant;
  let key: string;
  let path: string;

  const statusOf = async (id: string) => (await tenant.call("GET", `/api/v1/emails/${id}`)).json.status;

  beforeAll(async () => {
    sink = await startRawSink();
    sink.onStage = (stage, { to }) =>
      stage === "rcpt" && to.includes("poisoned") ? "451 4.3.0 not now" : undefined;
    const relay = { SMTP_URL: `smtp://127.0.0.1:${sink.port}`, DELIVERY_RETRY_BASE_MS: "50" };
    service = await startService(store, { ...relay, DELIVERY: "on" });
    tenant = await service.tenant();
    key = newKey();
    const { json } = await tenant.send(key, message({ to: "poisoned@example.net" }));
    path = `/api/v1/emails/${json.id}`;
    await until(async () => (await statusOf(json.id)) === "deferred", "the message to be deferred");
    const stream = emailStream(json.id);
    // Delivery tries it again and again, so the append may lose a race.
    await until(async () => {
      const last = (await service.log.store.lastRevision(stream)) ?? 0;
      const metadata = { schema: 1, at: new Date().toISOString(), correlationId: "test", actor: "test" };
      const event = { id: crypto.randomUUID(), type: "EmailLaunched", data: { to: SECRET }, metadata };
      return (await service.log.store.append(stream, [event], last)).outcome === "appended";
    }, "the unknown event to be appended");
  }, 60_000);

  afterAll(async () => {
    await service?.remove();
    await sink?.close();
  });

  test("is answered as an internal error, which shows nothing of the event", async () => {
    const answers = [
      await tenant.call("GET", path),
      await tenant.call("GET", `/api/v1/emails?idempotency_key=${key}`),
      await tenant.call("POST", `${path}/cancel`),
    ];
    for (const answer of answers) {
      expect(answer).toMatchObject(INTERNAL);
      expect(answer.text).not.toMatch(new RegExp(`${SECRET}|EmailLaunched|poisoned`));
    }
  });

  test("keeps its key: a retry gets the first answer, changed content a conflict", async () => {
    const repeat = await tenant.send(key, message({ to: "poisoned@example.net" }));
    expect(repeat).toMatchObject({ status: 202 });
    expect(repeat.headers.get("idempotent-replayed")).toBe("true");
    expect(await tenant.send(key, message({ to: "another@example.net" }))).toMatchObject({ status: 409 });
  });

  test("is in lists, and holds up nobody else's delivery", async () => {
    const ids: string[] = [];
    for (let index = 0; index < 10; index += 1) {
      ids.push((await tenant.send(newKey(), message({ to: `someone-${index}@example.net` }))).json.id);
    }
    for (const id of ids) {
      await until(async () => (await statusOf(id)) === "sent", "the others to be sent");
    }
    const list = await tenant.call("GET", "/api/v1/emails?limit=50");
    expect(list.json.data).toHaveLength(ids.length + 1);
    const row = { from: null, to: null, subject: null, message_id: null, tags: [] };
    expect(list.json.data.at(-1)).toMatchObject(row);
    expect(list.json.data[0]).toMatchObject({ status: "sent", to: "someone-9@example.net" });
    const ready = await tenant.call("GET", "/health/ready");
    expect(ready).toMatchObject({ status: 200, json: { checks: { read_models: { ok: true } } } });
  });
});
