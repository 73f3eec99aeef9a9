import { describe, expect, test } from "bun:test";
import type { EmailEvent } from "../../../src/domain/email/events.ts";
import { faultsIn } from "../../support/mail/sentEmail.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, startService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const PATH = "/api/v1/emails";
const DAY_MS = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();
const started: EmailEvent = {
  type: "EmailDeliveryStarted",
  data: { attempt: 1, worker: "test", leaseMs: 120_000, transport: "smtp" },
};

describe.each(await testStores())("scheduled messages on $name", (store) => {
  const { service, tenant } = serviceFixture(store, {});

  const send = (scheduled_at: unknown, key = newKey()) => tenant.send(key, message({ scheduled_at }));
  const get = async (id: string) => (await tenant.call("GET", `${PATH}/${id}`)).json;
  const reschedule = (id: string, scheduled_at: unknown, as = tenant) =>
    as.call("POST", `${PATH}/${id}/reschedule`, { body: { scheduled_at } });
  const expectFault = async (answer: ReturnType<typeof send>, wanted: RegExp) => {
    expect(faultsIn(await answer)).toEqual([
      { pointer: "/scheduled_at", message: expect.stringMatching(wanted) },
    ]);
  };

  test("are accepted as scheduled, with the four fields, and say what they wait for", async () => {
    const at = inDays(3);
    const { status, json } = await send(at);
    expect(status).toBe(202);
    expect(Object.keys(json).sort()).toEqual(["created_at", "id", "object", "status"]);
    expect(json.status).toBe("scheduled");
    const email = await get(json.id);
    expect(email).toMatchObject({
      status: "scheduled",
      scheduled_at: at,
      waiting: { reason: "scheduled", until: at, detail: "It is scheduled for then." },
    });
    expect(email.timeline.map(({ type }: { type: string }) => type)).toEqual(["content_stored", "scheduled"]);
  });

  test("take times of any offset, up to 30 days ahead", async () => {
    const at = new Date(Math.floor(Date.now() / 1_000) * 1_000 + DAY_MS);
    const local = `${new Date(at.getTime() + 2 * 3_600_000).toISOString().slice(0, 19)}+02:00`;
    expect((await get((await send(local)).json.id)).scheduled_at).toBe(at.toISOString());
    expect((await send(inDays(29.99))).status).toBe(202);
    await expectFault(send(inDays(30.01)), /at most 30 days ahead/);
    await expectFault(send(inDays(-1)), /in the past/);
    for (const text of [
      "tomorrow",
      "2030-02-30T00:00:00Z",
      "2030-01-01T24:00:00Z",
      "2030-01-01",
      "",
      "1893456000",
    ])
      await expectFault(send(text), /date-time as in RFC 3339/);
    for (const other of [7, {}]) await expectFault(send(other), /must be/);
  });

  test("of a time that is just over go at once", async () => {
    const { json } = await send(inDays(-0.02));
    expect(json.status).toBe("queued");
    expect(await get(json.id)).toMatchObject({ scheduled_at: null, status: "queued" });
  });

  test("answer a repeat as before, whatever became of them", async () => {
    const [key, at] = [newKey(), inDays(1)];
    const first = await send(at, key);
    await reschedule(first.json.id, inDays(2));
    await service.addEmailEvents(first.json.id, started);
    const repeat = await send(at, key);
    expect({ text: repeat.text, replayed: repeat.headers.get("idempotent-replayed") }).toEqual({
      text: first.text,
      replayed: "true",
    });
    expect((await send(inDays(2), key)).json.code).toBe("IDEMPOTENCY_CONFLICT");
    await service.restart();
    expect((await send(at, key)).text).toBe(first.text);
  });

  test("are moved, listed and canceled", async () => {
    const { id } = (await send(inDays(1))).json;
    const at = inDays(4);
    const rescheduled = await reschedule(id, at);
    expect(rescheduled.status).toBe(200);
    expect(rescheduled.json).toMatchObject({ id, status: "scheduled", scheduled_at: at });
    expect(rescheduled.json.timeline.at(-1)).toMatchObject({ type: "rescheduled", scheduled_at: at });
    const repeat = await reschedule(id, at);
    expect(repeat.json.timeline).toHaveLength(rescheduled.json.timeline.length);
    const list = async () => (await tenant.call("GET", `${PATH}?status=scheduled&limit=100`)).json.data;
    const isListed = async () => (await list()).some((email: { id: string }) => email.id === id);
    await until(isListed, "the message in the list");
    const canceled = await tenant.call("POST", `${PATH}/${id}/cancel`);
    expect(canceled.json).toMatchObject({ status: "canceled", waiting: null });
    const refused = await reschedule(id, at);
    expect({ status: refused.status, code: refused.json.code }).toEqual({
      status: 409,
      code: "EMAIL_NOT_SCHEDULED",
    });
    const { data } = (await tenant.call("GET", "/api/v1/audit-log")).json;
    const entries = data.filter(({ target }: { target: { id: string } }) => target.id === id);
    expect(entries.map(({ action }: { action: string }) => action)).toEqual([
      "email.canceled",
      "email.rescheduled",
    ]);
    expect(entries[1].details).toEqual({ scheduled_at: at });
  });

  test("are moved by who may send, in their own workspace, to a time that is one", async () => {
    const { id } = (await send(inDays(1))).json;
    const other = await service.tenant();
    expect((await reschedule(id, inDays(2), other)).status).toBe(404);
    const reader = await tenant.withKey({ scopes: ["email:read"] });
    expect((await reschedule(id, inDays(2), reader)).status).toBe(403);
    for (const at of [inDays(31), inDays(-1), "later", null, undefined]) {
      const { status, json } = await reschedule(id, at);
      expect({ status, pointer: json.errors[0].pointer }).toEqual({ status: 400, pointer: "/scheduled_at" });
    }
    expect((await reschedule(crypto.randomUUID(), inDays(1))).status).toBe(404);
    expect((await reschedule((await send(undefined)).json.id, inDays(1))).json.code).toBe(
      "EMAIL_NOT_SCHEDULED",
    );
  });

  test("to a suppressed recipient are suppressed at once, and erasing cancels those that wait", async () => {
    await tenant.call("POST", "/api/v1/suppressions", { body: { address: "gone@example.com" } });
    const body = message({ scheduled_at: inDays(1), to: "gone@example.com" });
    expect((await tenant.send(newKey(), body)).json.status).toBe("suppressed");
    const { id } = (await send(inDays(1))).json;
    const erased = await tenant.call("DELETE", `${PATH}/${id}/content`);
    expect(erased.json).toMatchObject({ status: "canceled", content_erased: true });
  });
});

test("a scheduled message goes now when it is moved to the present", async () => {
  const [store] = await testStores();
  if (store === undefined) throw new Error("the store is missing");
  const service = await startService(store, { DELIVERY: "on" });
  try {
    const tenant = await service.tenant();
    const { id } = (await tenant.send(newKey(), message({ scheduled_at: inDays(1) }))).json;
    const body = { scheduled_at: new Date().toISOString() };
    expect((await tenant.call("POST", `${PATH}/${id}/reschedule`, { body })).status).toBe(200);
    const status = async () => (await tenant.call("GET", `${PATH}/${id}`)).json.status;
    await until(async () => (await status()) === "sent", "the message to be sent");
  } finally {
    await service.remove();
  }
}, 60_000);
