import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { TEST_SCOPES } from "../../../src/domain/apiKey/scopes.ts";
import { cancelEmails } from "../../../src/http/email/cancelEmails.ts";
import { logIn } from "../../support/dashboard.ts";
import { acceptedId, emailOf } from "../../support/mail/sentEmail.ts";
import { callerOf } from "../../support/service.ts";
import { sharedService } from "../../support/sharedService.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, SENDER, type Tenant, type TestService } from "../../support/tenants.ts";

const STARTED = { attempt: 1, worker: "w", leaseMs: 60_000, transport: "smtp" };
const LOST = { attempt: 1, reason: "connection_lost", attemptBurnt: true, ambiguous: true };
const FAR_AHEAD = "2090-01-01T00:00:00Z";

describe.each(await testStores())("cancelling all that match on $name", (store) => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService(store);
  });
  afterAll(() => service.remove());

  type As = Pick<Tenant, "call">;
  const cancel = (as: As, query: Record<string, string>) =>
    as.call("POST", `/api/v1/emails/cancel?${new URLSearchParams(query)}`);
  const statusOf = async (as: As, id: string) => (await emailOf(as, id)).status;
  const tagged = (as: Tenant, tag = "bad") => acceptedId(as, message({ tags: [tag] }));

  test("takes what waits, page by page, and leaves the rest alone", async () => {
    const own = await service.tenant();
    const [other, sending] = [await tagged(own, "good"), await tagged(own)];
    await service.addEmailEvents(sending, { type: "EmailDeliveryStarted", data: STARTED });
    const waiting = [await tagged(own), await tagged(own), await tagged(own)];
    const first = await cancel(own, { tag: "bad", limit: "2" });
    const canceled = [waiting[2], waiting[1]];
    const cursor = first.json.next_cursor;
    expect(first).toMatchObject({ status: 200, json: { canceled, not_canceled: [], next_cursor: cursor } });
    const { json } = await cancel(own, { tag: "bad", limit: "2", cursor });
    expect(json).toEqual({ canceled: [waiting[0]], not_canceled: [], next_cursor: null });
    for (const id of waiting) expect(await statusOf(own, id)).toBe("canceled");
    expect(await statusOf(own, other)).toBe("queued");
    expect(await statusOf(own, sending)).toBe("sending");
    const { timeline } = await emailOf(own, waiting[0] ?? "");
    expect(timeline.at(-1)).toMatchObject({ type: "canceled", api_key_id: own.keyId });
  });

  test("names what the relay may have", async () => {
    const own = await service.tenant();
    const id = await tagged(own);
    await service.addEmailEvents(
      id,
      { type: "EmailDeliveryStarted", data: STARTED },
      { type: "EmailDeferred", data: { ...LOST, nextAttemptAt: FAR_AHEAD } },
    );
    const { json } = await cancel(own, { tag: "bad" });
    const not_canceled = [{ id, reason: "delivery_unknown" }];
    expect(json).toEqual({ canceled: [], not_canceled, next_cursor: null });
    expect(await statusOf(own, id)).toBe("deferred");
  });

  // Other tests read a shared log, too.
  test.skipIf(store.isShared)("goes on past a message that cannot be read", async () => {
    const own = await service.tenant();
    const [later, id] = [await tagged(own), await tagged(own)];
    const unknown = { id: crypto.randomUUID(), type: "LaunchedToTheMoon", data: {}, metadata: { schema: 1 } };
    await service.log.store.append(`email-${id}`, [unknown], 1);
    const { json } = await cancel(own, { tag: "bad" });
    expect(json).toEqual({
      canceled: [later],
      not_canceled: [{ id, reason: "unreadable" }],
      next_cursor: null,
    });
    const session = await logIn(service.url, own.apiKey);
    const form = { q: "tag:bad", until: FAR_AHEAD, nonce: crypto.randomUUID(), mail: "live" };
    const { html } = await session.post("/messages/send-again", form);
    expect(html).toContain("1 message was sent again; 1 could not be.");
    expect(html).toContain(`${id}</a>: its events are of a later version, or damaged`);
  });

  test("finds what a key has sent, and that of one status", async () => {
    const own = await service.tenant();
    const leaked = await own.withKey({ scopes: ["email:send"] });
    const kept = await tagged(own);
    const [queued, scheduled] = [
      await tagged(leaked),
      await acceptedId(leaked, message({ scheduled_at: new Date(Date.now() + 86_400_000).toISOString() })),
    ];
    const ofKey = { api_key_id: leaked.keyId };
    expect((await cancel(own, { ...ofKey, status: "sent" })).json.canceled).toEqual([]);
    expect((await cancel(own, { ...ofKey, status: "scheduled,sent" })).json.canceled).toEqual([scheduled]);
    expect((await cancel(own, ofKey)).json.canceled).toEqual([queued]);
    expect(await statusOf(own, kept)).toBe("queued");
  });

  test("leaves live mail to live keys, and mail of other senders to their keys", async () => {
    const own = await service.tenant();
    const id = await tagged(own);
    const tester = await own.withKey({ isTest: true, scopes: TEST_SCOPES });
    expect((await cancel(tester, { tag: "bad" })).json.canceled).toEqual([]);
    const bound = async (sender: string) => {
      const body = { name: "bound", scopes: ["email:send", "email:status"], senders: [sender] };
      return callerOf(service.url, (await own.call("POST", "/api/v1/api-keys", { body })).json.key);
    };
    const refused = await cancel(await bound("other.example"), { tag: "bad" });
    expect(refused.json).toMatchObject({ canceled: [], not_canceled: [{ id, reason: "other_sender" }] });
    expect((await cancel(await bound(SENDER), { tag: "bad" })).json.canceled).toEqual([id]);
  });

  test("needs a filter, and the scopes of the list and of a cancellation", async () => {
    const own = await service.tenant();
    const id = await tagged(own);
    for (const none of [{}, { limit: "5" }])
      expect(await cancel(own, none)).toMatchObject({ status: 400, json: { code: "INVALID_REQUEST" } });
    for (const scope of ["email:send", "email:status"] as const) {
      const lacking = await own.withKey({ scopes: [scope] });
      expect(await cancel(lacking, { tag: "bad" })).toMatchObject({ status: 403 });
    }
    expect(await cancel(own, { idempotency_key: "order-4711" })).toMatchObject({ status: 400 });
    expect(await statusOf(own, id)).toBe("queued");
  });
});

test("a cancellation of all that match is refused while the list is behind the log", async () => {
  const source = { deps: {}, readModel: () => ({ whenCaughtUp: async () => false }) } as never;
  const canceled = cancelEmails(source, { ownerId: "w", limit: 1 }, {} as never);
  await expect(canceled).rejects.toMatchObject({ status: 503 });
});
