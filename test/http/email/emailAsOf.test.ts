import { describe, expect, test } from "bun:test";
import { type EmailEvent, emailStream } from "../../../src/domain/email/events.ts";
import { metadataOf } from "../../../src/kernel/event/eventMetadata.ts";
import { rfc3339 } from "../../../src/kernel/time.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey } from "../../support/tenants.ts";

const PATH = "/api/v1/emails";

const started: EmailEvent = {
  type: "EmailDeliveryStarted",
  data: { attempt: 1, worker: "test", leaseMs: 120_000, transport: "smtp" },
};
const sent: EmailEvent = { type: "EmailSent", data: { attempt: 1, transport: "smtp", reply: "250 taken" } };
const erased: EmailEvent = { type: "EmailContentErased", data: { reason: "operator" } };

describe.each(await testStores())("a message as it was, on $name", (store) => {
  const { service, tenant } = serviceFixture(store);

  /** A message that was claimed a second after its acceptance and sent a second later. */
  async function delivered(): Promise<{ readonly id: string; readonly at: number }> {
    const { json } = await tenant.send(newKey(), message({ html: "<p>Secret</p>" }));
    const at = Date.parse(json.created_at);
    await later(json.id, at + 1_000, started);
    await later(json.id, at + 2_000, sent);
    return { id: json.id, at };
  }

  /** Appends an event whose own time is `at`. */
  async function later(id: string, at: number, { type, data }: EmailEvent): Promise<void> {
    const { store: log } = service.log;
    const metadata = metadataOf({
      at,
      correlationId: "test",
      actor: "test",
      workspaceId: tenant.workspaceId,
    });
    const last = await log.lastRevision(emailStream(id));
    const event = { id: crypto.randomUUID(), type, data, metadata };
    const result = await log.append(emailStream(id), [event], last ?? "noStream");
    expect(result.outcome).toBe("appended");
  }

  const get = (id: string, asOf: string, caller = tenant) =>
    caller.call("GET", `${PATH}/${id}?as_of=${encodeURIComponent(asOf)}`);

  test("has the status and the timeline of each moment", async () => {
    const { id, at } = await delivered();
    const seen = [];
    for (const ms of [0, 999, 1_000, 1_999, 2_000, 1e9]) {
      const { status, json } = await get(id, rfc3339(at + ms));
      expect(status).toBe(200);
      seen.push([ms, json.status, json.attempts, json.timeline.length, Date.parse(json.updated_at) - at]);
    }
    expect(seen).toEqual([
      [0, "queued", 0, 2, 0],
      [999, "queued", 0, 2, 0],
      [1_000, "sending", 1, 3, 1_000],
      [1_999, "sending", 1, 3, 1_000],
      [2_000, "sent", 1, 4, 2_000],
      [1e9, "sent", 1, 4, 2_000],
    ]);
    const { json: current } = await tenant.call("GET", `${PATH}/${id}`);
    expect((await get(id, rfc3339(at + 2_000))).json).toEqual(current);
  });

  test("takes every form of an RFC 3339 time", async () => {
    const { id, at } = await delivered();
    const inKathmandu = `${rfc3339(at + 20_700_000).slice(0, -1)}+05:45`;
    for (const form of [rfc3339(at).toLowerCase(), inKathmandu]) {
      expect((await get(id, form)).json).toMatchObject({ id, status: "queued" });
    }
  });

  test("an instance whose clock is behind dates no event before the one it followed", async () => {
    const { json } = await tenant.send(newKey(), message());
    const at = Date.parse(json.created_at);
    await later(json.id, at + 5_000, started);
    await later(json.id, at + 1_000, sent);
    expect((await get(json.id, rfc3339(at + 2_000))).json.status).toBe("queued");
    expect((await get(json.id, rfc3339(at + 5_000))).json.status).toBe("sent");
  });

  test("was not there before it was accepted, and is never another workspace's", async () => {
    const { id, at } = await delivered();
    const otherTenant = await service.tenant();
    const unknown = "00000000-0000-5000-8000-000000000000";
    for (const answer of [
      await get(id, rfc3339(at - 1)),
      await get(unknown, rfc3339(at)),
      await get(id, rfc3339(at), otherTenant),
    ]) {
      expect({ status: answer.status, code: answer.json.code }).toEqual({ status: 404, code: "NOT_FOUND" });
    }
  });

  for (const time of ["", "yesterday", "2026-01-01", "2026-02-30T00:00:00Z", "2026-01-01T00:00:00"]) {
    test(`"${time}" is no time, which is said`, async () => {
      const { id } = await delivered();
      const { status, json } = await get(id, time);
      expect({ status, code: json.code }).toEqual({ status: 400, code: "INVALID_REQUEST" });
      expect(json.errors).toMatchObject([{ pointer: "/as_of" }]);
    });
  }

  test("content that was erased since is erased at every moment, before and after its truncation", async () => {
    const { id, at } = await delivered();
    expect((await get(id, rfc3339(at))).json).toMatchObject({ html: "<p>Secret</p>", content_erased: false });
    await later(id, at + 3_000, erased);
    const check = async () => {
      const { json, text } = await get(id, rfc3339(at + 1_000));
      expect(json).toMatchObject({ status: "sending", html: null, to: null, content_erased: true });
      expect(text).not.toContain("Secret");
    };
    await check();
    await service.log.store.truncateBefore(emailStream(id), 1);
    await check();
    expect((await get(id, rfc3339(at - 1))).status).toBe(404);
  });

  test("needs the scope that reading needs", async () => {
    const { id, at } = await delivered();
    const without = await tenant.withKey({ scopes: ["email:send"] });
    expect((await get(id, rfc3339(at), without)).status).toBe(403);
  });
});
