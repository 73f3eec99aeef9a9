import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { EmailEvent } from "../../../src/domain/email/events.ts";
import { DAY_MS, HOUR_MS, rfc3339 } from "../../../src/kernel/time.ts";
import { acceptedId } from "../../support/mail/sentEmail.ts";
import type { Caller } from "../../support/service.ts";
import { sharedService } from "../../support/sharedService.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, type Tenant, type TestService } from "../../support/tenants.ts";

const USAGE = "/api/v1/usage";
const BOUNCES = "/api/v1/usage/bounces";
const NOTHING = {
  accepted: 0,
  sent: 0,
  bounced: 0,
  failed: 0,
  suppressed: 0,
  canceled: 0,
  delivered: 0,
  complained: 0,
};

const started: EmailEvent = {
  type: "EmailDeliveryStarted",
  data: { attempt: 1, worker: "test", leaseMs: 120_000, transport: "smtp" },
};
const sent: EmailEvent = { type: "EmailSent", data: { attempt: 1, transport: "smtp", reply: "250 taken" } };

function bounced(recipientDomain?: string): EmailEvent {
  const data = { attempt: 1, reason: "recipient_refused", code: 550, reply: "550 5.1.1 <recipient> unknown" };
  return { type: "EmailBounced", data: recipientDomain === undefined ? data : { ...data, recipientDomain } };
}

/** The bucket of the present day. */
function today(): string {
  return `${new Date().toISOString().slice(0, 10)}T00:00:00.000Z`;
}

async function publishedTemplate(caller: Caller): Promise<string> {
  const { json: template } = await caller.call("POST", "/api/v1/templates", { body: { name: "usage" } });
  const path = `/api/v1/templates/${template.id}/versions`;
  const version = { subject: "Hello", text: "Hello", variables: [] };
  const { json: draft } = await caller.call("POST", path, { body: version });
  expect((await caller.call("POST", `${path}/${draft.id}/publish`)).status).toBe(200);
  return template.id;
}

describe.each(await testStores())("usage on $name", (store) => {
  let service: TestService;
  let tenant: Tenant;
  let templateId: string;
  let senderId: string;
  let start: string;
  beforeAll(async () => {
    service = await sharedService(store);
    // Told once more, to another workspace, if the day has changed in the middle of it.
    do {
      start = today();
      tenant = await service.tenant();
      templateId = await publishedTemplate(tenant);
      const { json } = await tenant.call("GET", "/api/v1/senders");
      senderId = json.data[0].id;
      await sendFeedback();
    } while (start !== today());
  });
  afterAll(() => service.remove());

  const accept = (parts: Record<string, unknown> = {}) => acceptedId(tenant, message(parts));
  const acceptByTemplate = () => {
    const { subject: _subject, text: _text, ...rest } = message();
    return tenant.send(newKey(), { ...rest, template_id: templateId });
  };
  /** Six messages: two of a template, one sent, three bounced and one of these sent after all, one canceled. */
  async function sendFeedback(): Promise<void> {
    expect((await acceptByTemplate()).status).toBe(202);
    const ended = [[sent], [bounced("one.example")], [bounced("two.example"), sent], [bounced()]] as const;
    for (const events of ended) await service.addEmailEvents(await accept(), started, ...events);
    const { json } = await acceptByTemplate();
    expect((await tenant.call("POST", `/api/v1/emails/${json.id}/cancel`)).status).toBe(200);
  }

  const get = async (path: string, query: Readonly<Record<string, string>> = {}) => {
    const answer = await tenant.call("GET", `${path}?${new URLSearchParams(query)}`);
    expect({ status: answer.status, detail: answer.json.detail }).toEqual({ status: 200 } as never);
    return answer.json;
  };

  test("of a day: what was accepted, and how it ended; a message sent after all counts for both", async () => {
    const { data, next_cursor } = await get(USAGE);
    expect(data).toEqual([
      { object: "usage", start, ...NOTHING, accepted: 6, sent: 2, bounced: 3, canceled: 1 },
    ]);
    expect(next_cursor).toBeNull();
  });

  test("by template has one row for each, and one for those of none", async () => {
    const { data } = await get(USAGE, { group_by: "template" });
    const of = (id: string | null, counts: object) => {
      return { object: "usage", start, template_id: id, ...NOTHING, ...counts };
    };
    expect(data).toEqual([
      of(null, { accepted: 4, sent: 2, bounced: 3 }),
      of(templateId, { accepted: 2, canceled: 1 }),
    ]);
    const ofTemplate = await get(USAGE, { template_id: templateId.toUpperCase() });
    expect(ofTemplate.data).toEqual([{ object: "usage", start, ...NOTHING, accepted: 2, canceled: 1 }]);
  });

  test("by sender shows whose messages they were", async () => {
    const { data } = await get(USAGE, { group_by: "sender", by: "hour", sender_id: senderId });
    expect(data.map(({ sender_id }: { sender_id: string }) => sender_id)).toContain(senderId);
    const accepted = data.reduce((sum: number, row: { accepted: number }) => sum + row.accepted, 0);
    expect(accepted).toBe(6);
    expect((await get(USAGE, { sender_id: "0".repeat(64) })).data).toEqual([]);
  });

  test("bounces stand under the domain that they were at, null where none was kept", async () => {
    const { data } = await get(BOUNCES);
    const of = (domain: string | null) => ({ object: "bounces", start, domain, bounced: 1 });
    expect(data).toEqual([of(null), of("one.example"), of("two.example")]);
    expect((await get(BOUNCES, { domain: "Two.Example" })).data).toEqual([of("two.example")]);
    expect((await get(BOUNCES, { domain: "three.example" })).data).toEqual([]);
  });

  test("pages lead through all rows, each once", async () => {
    for (const [path, query] of [
      [USAGE, { group_by: "template", limit: "1" }],
      [BOUNCES, { by: "hour", limit: "1" }],
    ] as const) {
      const all = (await get(path, { ...query, limit: "100" })).data;
      const rows = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const page = await get(path, { ...query, ...(cursor === "" ? {} : { cursor }) });
        rows.push(...page.data);
        cursor = page.next_cursor;
      }
      expect(all.length).toBeGreaterThan(1);
      expect(rows).toEqual(all);
    }
  });

  test("two ranges that meet share no bucket and leave none out, wherever they meet", async () => {
    const now = Date.now();
    const [from, to] = [rfc3339(now - DAY_MS), rfc3339(now + DAY_MS)];
    const complete = await get(USAGE, { from, to, by: "hour" });
    for (const asOf of [now - HOUR_MS, now - 1, now, now + HOUR_MS].map(rfc3339)) {
      const older = await get(USAGE, { from, to: asOf, by: "hour" });
      const newer = await get(USAGE, { from: asOf, to, by: "hour" });
      expect([...newer.data, ...older.data]).toEqual(complete.data);
    }
  });

  test("another workspace has used nothing", async () => {
    const other = await service.tenant();
    for (const path of [USAGE, BOUNCES]) {
      expect((await other.call("GET", path)).json).toEqual({ data: [], next_cursor: null });
    }
  });

  const day = (days: number) => rfc3339(Date.now() + days * DAY_MS);
  test.each([
    ["from", { from: "yesterday" }, "/from"],
    ["to", { to: "2030-13-01T00:00:00Z" }, "/to"],
    ["a range that ends before it begins", { from: day(0), to: day(-1) }, "/to"],
    ["a range that is too long", { from: day(-93), to: day(0) }, "/to"],
    ["a range of hours that is too long", { from: day(-32), to: day(0), by: "hour" }, "/to"],
    ["a bucket of another size", { by: "week" }, "/by"],
    ["a cursor of another list", { cursor: Buffer.from('["x","y"]').toString("base64url") }, "/cursor"],
    ["what is no cursor", { cursor: "!" }, "/cursor"],
    ["a limit of none", { limit: "0" }, "/limit"],
  ])("refuses %s", async (_, query, pointer) => {
    for (const path of [USAGE, BOUNCES]) {
      const { status, json } = await tenant.call("GET", `${path}?${new URLSearchParams(query as never)}`);
      expect({ status, code: json.code }).toEqual({ status: 400, code: "INVALID_REQUEST" });
      expect(json.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
    }
  });

  test("refuses a domain that is none", async () => {
    const { status, json } = await tenant.call("GET", `${BOUNCES}?domain=not%20one`);
    expect({ status, code: json.code }).toEqual({ status: 400, code: "INVALID_REQUEST" });
  });

  test("has nothing at the edges of time", async () => {
    for (const to of ["9999-12-31T23:59:59.999Z", "0000-01-01T00:00:00Z"]) {
      expect((await get(USAGE, { to })).data).toEqual([]);
    }
  });
});
