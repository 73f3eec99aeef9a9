import { describe, expect, test } from "bun:test";
import type { EmailEvent } from "../../../src/domain/email/events.ts";
import { emailStream } from "../../../src/domain/email/events.ts";
import { DAY_MS } from "../../../src/kernel/time.ts";
import { expectProblem } from "../../support/expectProblem.ts";
import { acceptedId } from "../../support/mail/sentEmail.ts";
import { rawRequest } from "../../support/servers/rawRequest.ts";
import type { Caller } from "../../support/service.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, SENDER, startService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const PATH = "/api/v1/emails";
const PAGE_ITEMS_MAX = 100;
const UNKNOWN = "00000000-0000-5000-8000-000000000000";

const started: EmailEvent = {
  type: "EmailDeliveryStarted",
  data: { attempt: 1, worker: "test", leaseMs: 120_000, transport: "smtp" },
};
const sent: EmailEvent = { type: "EmailSent", data: { attempt: 1, transport: "smtp", reply: "250 taken" } };
const bounced: EmailEvent = {
  type: "EmailBounced",
  data: { attempt: 1, reason: "recipient_refused", code: 550, reply: "550 5.1.1 <recipient> unknown" },
};
const failed: EmailEvent = {
  type: "EmailFailed",
  data: { attempt: 1, reason: "relay_refused", code: 535, reply: "535 no" },
};
const reportedBounce: EmailEvent = {
  type: "EmailBounced",
  data: { attempt: 1, reason: "mailbox_full", source: "api" },
};
const complaint = { attempt: 1, feedbackType: "abuse", source: "api" };
const NEXT_ATTEMPT_AT = "2099-01-01T00:00:00.000Z";
const deferred: EmailEvent = {
  type: "EmailDeferred",
  data: {
    attempt: 1,
    reason: "recipient_deferred",
    attemptBurnt: true,
    ambiguous: false,
    nextAttemptAt: NEXT_ATTEMPT_AT,
    code: 450,
    reply: "450 later",
  },
};
const deliveryUnknown: EmailEvent = {
  type: "EmailDeferred",
  data: {
    attempt: 1,
    reason: "lease_expired",
    attemptBurnt: true,
    ambiguous: true,
    nextAttemptAt: NEXT_ATTEMPT_AT,
  },
};

interface Listed {
  readonly id: string;
  readonly created_at: string;
  readonly status: string;
  readonly reason: string | null;
  readonly subject: string | null;
}

function query(parameters: Readonly<Record<string, string | number>>): string {
  const text = new URLSearchParams(
    Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return `${PATH}?${text}`;
}

async function list(caller: Caller, parameters: Readonly<Record<string, string | number>> = {}) {
  const answer = await caller.call("GET", query(parameters));
  expect({ status: answer.status, detail: answer.json.detail }).toEqual({ status: 200 } as never);
  return answer.json as { readonly data: readonly Listed[]; readonly next_cursor: string | null };
}

async function idsOf(caller: Caller, parameters: Readonly<Record<string, string | number>> = {}) {
  return (await list(caller, parameters)).data.map(({ id }) => id);
}

/** Lists are a read model's: they follow. */
async function untilListed(caller: Caller, count: number): Promise<void> {
  await until(
    async () => (await idsOf(caller, { limit: 100 })).length >= count,
    `${count} messages in the list`,
  );
}

describe.each(await testStores())("reading on $name", (store) => {
  const { service, tenant } = serviceFixture(store);

  const accept = (parts: Record<string, unknown> = {}, caller = tenant) => acceptedId(caller, message(parts));
  const get = (id: string, caller = tenant) => caller.call("GET", `${PATH}/${id}`);
  const cancel = (id: string, caller = tenant) => caller.call("POST", `${PATH}/${id}/cancel`);

  describe("one message by its id", () => {
    test("is there as soon as it was accepted, with all that was sent", async () => {
      const parts = { reply_to: "Desk@Example.com", html: "<p>ü</p>", metadata: { order: 17, vip: true } };
      const { json: receipt } = await tenant.send(newKey(), message(parts));
      const { status, json } = await get(receipt.id);
      expect(status).toBe(200);
      expect(json).toMatchObject({
        ...receipt,
        ...message(),
        html: parts.html,
        metadata: parts.metadata,
        reply_to: "Desk@example.com",
        updated_at: receipt.created_at,
        attempts: 0,
        next_attempt_at: null,
        content_erased: false,
      });
      expect(json.status).toBe("queued");
    });

    test("has null where nothing was sent", async () => {
      const { json } = await get(await accept());
      expect(json).toMatchObject({ reply_to: null, html: null, metadata: null });
      expect(json).toMatchObject({ from_name: null, to_name: null, reply_to_name: null });
    });

    test("shows its history event by event", async () => {
      const id = await accept();
      await service.addEmailEvents(id, started);
      await service.addEmailEvents(id, deferred);
      const { json } = await get(id);
      expect(json.timeline).toMatchObject([
        { type: "content_stored", sequence: 0 },
        { type: "queued", sequence: 1 },
        { type: "delivery_started", sequence: 2, attempt: 1, transport: "smtp", lease_ms: 120_000 },
        {
          type: "deferred",
          sequence: 3,
          attempt: 1,
          reason: "recipient_deferred",
          attempt_burnt: true,
          ambiguous: false,
          next_attempt_at: NEXT_ATTEMPT_AT,
          code: 450,
          reply: "450 later",
        },
      ]);
      for (const { at } of json.timeline) expect(new Date(at).toISOString()).toBe(at);
      expect(json).toMatchObject({ status: "deferred", attempts: 1, next_attempt_at: NEXT_ATTEMPT_AT });
      expect(json.updated_at).toBe(json.timeline[3].at);
    });

    for (const [event, status] of [
      [sent, "sent"],
      [bounced, "bounced"],
      [failed, "failed"],
    ] as const) {
      test(`says ${status} after ${event.type}, with the relay's reply`, async () => {
        const id = await accept();
        await service.addEmailEvents(id, started, event);
        const { json } = await get(id);
        expect(json.status).toBe(status);
        expect(json.timeline.at(-1)).toMatchObject({ type: status, attempt: 1, reply: event.data.reply });
      });
    }

    test("says sending while a worker has it", async () => {
      const id = await accept();
      await service.addEmailEvents(id, started);
      expect((await get(id)).json).toMatchObject({ status: "sending", attempts: 1 });
    });

    test("keeps its story and loses its content when that is erased", async () => {
      const id = await accept({ html: "<p>Secret</p>", metadata: { secret: "yes" } });
      await service.addEmailEvents(id, { type: "EmailContentErased", data: { reason: "operator" } });
      await service.log.store.truncateBefore(emailStream(id), 1);
      const { json, text } = await get(id);
      const emptyContent = {
        ...{ from: null, to: null, subject: null, html: null, text: null, metadata: null },
        ...{ message_id: null, tags: [] },
      };
      expect(json).toMatchObject({ ...emptyContent, content_erased: true, status: "queued" });
      expect(json.timeline.map((entry: { type: string }) => entry.type)).toEqual([
        "queued",
        "content_erased",
      ]);
      for (const secret of ["Secret", "secret", "ana@", SENDER]) expect(text).not.toContain(secret);
    });

    test("is found by its id in upper case", async () => {
      const id = await accept();
      expect((await get(id.toUpperCase())).json.id).toBe(id);
    });

    test("is NOT_FOUND under an id that nobody has", async () => {
      expectProblem(await get(UNKNOWN), 404, "NOT_FOUND");
    });

    test("is INVALID_REQUEST under what cannot be an id, also if it decodes to no text", async () => {
      for (const id of ["none", "%zz%", "%ff"]) {
        expectProblem(await get(id), 400, "INVALID_REQUEST");
        const posted = await tenant.call("POST", `/api/v1/emails/${id}`);
        expectProblem(posted, 405, "METHOD_NOT_ALLOWED");
        expect(posted.headers.get("allow")).toBe("GET, HEAD");
      }
      expectProblem(await tenant.call("GET", "/nothing/%zz"), 404, "NOT_FOUND");
    });

    test("is NOT_FOUND for another workspace", async () => {
      const id = await accept();
      const other = await service.tenant();
      const answer = await get(id, other);
      expectProblem(answer, 404, "NOT_FOUND");
      // Nothing tells it from an id that nobody has.
      const { request_id: _, ...unlike } = (await get(UNKNOWN, other)).json;
      expect(answer.json).toMatchObject(unlike);
    });

    test("takes no query parameter", async () => {
      const answer = await tenant.call("GET", `${PATH}/${await accept()}?expand=1`);
      expectProblem(answer, 400, "INVALID_REQUEST");
      expect(answer.json.errors[0].pointer).toBe("/expand");
    });
  });

  describe("one message by its Idempotency-Key", () => {
    const byKey = async (key: string, caller = tenant) => list(caller, { idempotency_key: key });

    test("is there as soon as it was accepted", async () => {
      const key = newKey();
      const { json } = await tenant.send(key, message());
      const { data, next_cursor } = await byKey(key);
      expect(data).toMatchObject([{ ...json, to: "ana@example.com", subject: "Hello" }]);
      expect(next_cursor).toBeNull();
    });

    test("is looked up as it is sent: trimmed, and in its own letter case", async () => {
      const key = `${newKey()} & ü=%`.replace("ü", "u");
      const { json } = await tenant.send(key, message());
      expect((await byKey(`  ${key}\t`)).data.map(({ id }) => id)).toEqual([json.id]);
      expect((await byKey(key.toUpperCase())).data).toEqual([]);
    });

    test("is nothing under a key that was never used, or was refused", async () => {
      const key = newKey();
      await tenant.send(key, message({ to: "nobody" }));
      expect(await byKey(key)).toEqual({ data: [], next_cursor: null });
      expect(await byKey("x")).toEqual({ data: [], next_cursor: null });
    });

    test("is shown where the other filters want it too", async () => {
      const key = newKey();
      const { json } = await tenant.send(key, message({ tags: ["welcome"] }));
      const idsWith = async (filters: Readonly<Record<string, string>>) =>
        (await list(tenant, { idempotency_key: key, ...filters })).data.map(({ id }) => id);
      const [day, later] = ["2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"];
      const wanted = {
        to: "Ana@example.com",
        from: SENDER,
        tag: "welcome",
        created_from: day,
        created_before: later,
      };
      expect(await idsWith(wanted)).toEqual([json.id]);
      const others = [
        { status: "bounced" },
        { to: "bo@example.com" },
        { from: "other@example.com" },
        { tag: "bye" },
        { created_from: later },
        { created_before: day },
      ] as Readonly<Record<string, string>>[];
      for (const other of others) expect(await idsWith(other)).toEqual([]);
    });

    test("is nothing for another workspace", async () => {
      const key = newKey();
      await tenant.send(key, message());
      expect((await byKey(key, await service.tenant())).data).toEqual([]);
    });
  });

  describe("a list", () => {
    test("of a new workspace is empty", async () => {
      expect(await list(await service.tenant())).toEqual({ data: [], next_cursor: null });
    });

    test("shows each message as a summary, newest first", async () => {
      const own = await service.tenant();
      const later = { scheduled_at: new Date(Date.now() + DAY_MS).toISOString(), tags: ["receipts"] };
      const ids = [await accept({}, own), await accept({}, own), await accept(later, own)];
      await untilListed(own, 3);
      const { data } = await list(own);
      expect(data.map(({ id }) => id)).toEqual(ids.toReversed());
      expect(data[0]).toMatchObject({ ...later, message_id: `<${ids[2]}@example.com>` });
      for (const item of data) expect((await get(item.id, own)).json).toMatchObject(item);
    });

    test("shows nothing of another workspace", async () => {
      const [own, other] = [await service.tenant(), await service.tenant()];
      const id = await accept({}, own);
      await accept({}, other);
      await untilListed(own, 1);
      await untilListed(other, 1);
      expect(await idsOf(own)).toEqual([id]);
    });

    test("shows the state as it is, not as it was when the row was written", async () => {
      const own = await service.tenant();
      const id = await accept({}, own);
      await untilListed(own, 1);
      await service.addEmailEvents(id, started, sent);
      expect((await list(own)).data).toMatchObject([{ id, status: "sent", attempts: 1 }]);
    });

    test("shows the reason of the status, as the message itself does", async () => {
      const own = await service.tenant();
      const histories: readonly [string | null, ...EmailEvent[]][] = [
        [null],
        [null, started],
        [null, started, sent],
        ["recipient_deferred", started, deferred],
        [null, started, deferred, { ...started, data: { ...started.data, attempt: 2 } }],
        ["recipient_refused", started, bounced],
        ["relay_refused", started, failed],
        ["suppressed_since", { type: "EmailSuppressed", data: { reason: "suppressed_since" } }],
        ["mailbox_full", started, sent, reportedBounce],
        [null, started, sent, { type: "EmailComplained", data: complaint }],
        [
          "recipient_refused",
          started,
          bounced,
          { type: "EmailContentErased", data: { reason: "requested" } },
        ],
      ];
      const reasons = new Map<string, string | null>();
      for (const [reason, ...events] of histories) {
        const id = await accept({}, own);
        if (events.length > 0) await service.addEmailEvents(id, ...events);
        reasons.set(id, reason);
      }
      await untilListed(own, histories.length);
      expect(new Map((await list(own)).data.map(({ id, reason }) => [id, reason]))).toEqual(reasons);
      for (const [id, reason] of reasons) expect((await get(id, own)).json.reason).toBe(reason);
    });

    test("of a whole page keeps its order, and shows nothing of what was erased in its midst", async () => {
      const own = await service.tenant();
      const numbers = Array.from({ length: PAGE_ITEMS_MAX }, (_, number) => number);
      const ids = await Promise.all(numbers.map((number) => accept({ subject: `Number ${number}` }, own)));
      const erased = new Set(ids.filter((_, number) => number % 7 === 3));
      await Promise.all([...erased].map((id) => own.call("DELETE", `${PATH}/${id}/content`)));
      await untilListed(own, PAGE_ITEMS_MAX);
      const { data } = await list(own, { limit: PAGE_ITEMS_MAX });
      const times = data.map(({ created_at }) => created_at);
      expect(times).toEqual(times.toSorted().toReversed());
      const firstHalf = await list(own, { limit: PAGE_ITEMS_MAX / 2 });
      const cursor = firstHalf.next_cursor ?? "";
      const secondHalf = await list(own, { limit: PAGE_ITEMS_MAX / 2, cursor });
      expect(data).toEqual([...firstHalf.data, ...secondHalf.data]);
      const subjects = new Map(
        ids.map((id, number) => [id, erased.has(id) ? null : `Number ${number}`] as const),
      );
      expect(new Map(data.map(({ id, subject }) => [id, subject]))).toEqual(subjects);
    });

    test("can be filtered by status", async () => {
      const own = await service.tenant();
      const [queued, canceled, sentId] = [
        await accept({}, own),
        await accept({}, own),
        await accept({}, own),
      ];
      await cancel(canceled, own);
      await service.addEmailEvents(sentId, started, sent);
      await until(async () => (await idsOf(own, { status: "sent" })).length === 1, "the status to show");
      expect(await idsOf(own, { status: "queued" })).toEqual([queued]);
      expect(await idsOf(own, { status: "canceled" })).toEqual([canceled]);
      expect(await idsOf(own, { status: "sent" })).toEqual([sentId]);
      expect(await idsOf(own, { status: "bounced" })).toEqual([]);
    });

    test("can be filtered by several statuses, page by page", async () => {
      const own = await service.tenant();
      const ids = [
        await accept({}, own),
        await accept({}, own),
        await accept({}, own),
        await accept({}, own),
      ];
      const [bouncedId, failedId, sentId] = ids as [string, string, string, string];
      await service.addEmailEvents(bouncedId, started, bounced);
      await service.addEmailEvents(failedId, started, failed);
      await service.addEmailEvents(sentId, started, sent);
      await until(async () => (await idsOf(own, { status: "sent" })).length === 1, "the status to show");
      for (const status of ["bounced,failed", "failed,bounced,failed"])
        expect(await idsOf(own, { status })).toEqual([failedId, bouncedId]);
      expect(await idsOf(own, { status: "sent,bounced" })).toEqual([sentId, bouncedId]);
      const first = await list(own, { status: "bounced,failed", limit: 1 });
      const second = await list(own, { status: "bounced,failed", limit: 1, cursor: first.next_cursor ?? "" });
      expect([...first.data, ...second.data].map(({ id }) => id)).toEqual([failedId, bouncedId]);
      for (const status of ["bounced,", "bounced, failed", "bounced,lost", ""])
        expectProblem(await own.call("GET", query({ status })), 400, "INVALID_REQUEST");
      const repeated = await own.call("GET", "/api/v1/emails?status=sent&status=bounced");
      expect(repeated.json.data.map(({ id }: { id: string }) => id)).toEqual([sentId, bouncedId]);
      expectProblem(await own.call("GET", "/api/v1/emails?status=sent&status=lost"), 400, "INVALID_REQUEST");
      const key = newKey();
      await own.send(key, message());
      expect(await idsOf(own, { idempotency_key: key, status: "queued,sent" })).toHaveLength(1);
      expect(await idsOf(own, { idempotency_key: key, status: "bounced,failed" })).toEqual([]);
    });

    test("can be filtered by reasons, with other filters, page by page", async () => {
      const own = await service.tenant();
      const tagged = await accept({ tags: ["news"] }, own);
      const failedId = await accept({}, own);
      const again = await accept({}, own);
      await service.addEmailEvents(tagged, started, bounced);
      await service.addEmailEvents(failedId, started, failed);
      await service.addEmailEvents(again, started, deferred, {
        ...started,
        data: { ...started.data, attempt: 2 },
      });
      await until(async () => (await idsOf(own, { status: "sending" })).length === 1, "the status to show");
      const reason = "recipient_refused,relay_refused";
      expect(await idsOf(own, { reason })).toEqual([failedId, tagged]);
      expect(await idsOf(own, { reason: "relay_refused" })).toEqual([failedId]);
      // The reason of an attempt does not outlast the beginning of the next.
      expect(await idsOf(own, { reason: deferred.data.reason })).toEqual([]);
      expect(await idsOf(own, { reason, status: "bounced,sent" })).toEqual([tagged]);
      expect(await idsOf(own, { reason, status: "sent" })).toEqual([]);
      expect(await idsOf(own, { reason, tag: "news", to: "ana@example.com" })).toEqual([tagged]);
      const first = await list(own, { reason, limit: 1 });
      const second = await list(own, { reason, limit: 1, cursor: first.next_cursor ?? "" });
      expect([...first.data, ...second.data].map(({ id }) => id)).toEqual([failedId, tagged]);
      const repeated = await own.call("GET", `${PATH}?reason=recipient_refused&reason=relay_refused`);
      expect(repeated.json.data).toHaveLength(2);
      for (const unknown of ["resumed", "relay_refused,", "full", ""]) {
        const { json } = await own.call("GET", query({ reason: unknown }));
        expect(json).toMatchObject({
          status: 400,
          code: "INVALID_REQUEST",
          errors: [{ pointer: "/reason" }],
        });
      }
    });

    test("can be filtered by from and to, in any letter case", async () => {
      const own = await service.tenant();
      const ana = await accept({ to: "Ana@Example.com" }, own);
      const bob = await accept({ to: "bob@bücher.example" }, own);
      await untilListed(own, 2);
      expect(await idsOf(own, { to: "aNA@eXAMPLE.COM" })).toEqual([ana]);
      expect(await idsOf(own, { to: "BOB@xn--bcher-kva.example" })).toEqual([bob]);
      expect(await idsOf(own, { to: "carol@example.com" })).toEqual([]);
      expect(await idsOf(own, { from: SENDER.toUpperCase() })).toHaveLength(2);
      expect(await idsOf(own, { from: "other@example.com" })).toEqual([]);
      expect(await idsOf(own, { from: SENDER, to: "ana@example.com", status: "queued" })).toEqual([ana]);
    });

    test("can be filtered by time: from inclusive, before exclusive", async () => {
      const own = await service.tenant();
      const { json: first } = await own.send(newKey(), message());
      await until(() => Date.now() > Date.parse(first.created_at), "the clock to advance");
      const { json: second } = await own.send(newKey(), message());
      await untilListed(own, 2);
      expect(await idsOf(own, { created_from: second.created_at })).toEqual([second.id]);
      expect(await idsOf(own, { created_before: second.created_at })).toEqual([first.id]);
      expect(await idsOf(own, { created_from: first.created_at })).toHaveLength(2);
      expect(await idsOf(own, { created_before: first.created_at })).toEqual([]);
      const justAfter = first.created_at.replace("Z", "0000001Z");
      expect(await idsOf(own, { created_before: justAfter })).toEqual([first.id]);
      expect(await idsOf(own, { created_from: justAfter })).toEqual([second.id]);
      expect(await idsOf(own, { created_from: first.created_at.replace("Z", "000Z") })).toHaveLength(2);
      const inOtherZone = new Date(Date.parse(second.created_at) + 2 * 3_600_000).toISOString();
      expect(await idsOf(own, { created_from: inOtherZone.replace("Z", "+02:00") })).toEqual([second.id]);
      expect(await idsOf(own, { created_from: second.created_at.toLowerCase() })).toEqual([second.id]);
    });

    test("is walked by cursors without gap or repeat while new messages arrive", async () => {
      const own = await service.tenant();
      const before = await Promise.all(Array.from({ length: 30 }, () => accept({}, own)));
      await untilListed(own, before.length);
      const seen: string[] = [];
      let cursor: string | null = null;
      let pages = 0;
      do {
        const page = await list(own, { limit: 7, ...(cursor === null ? {} : { cursor }) });
        seen.push(...page.data.map(({ id }) => id));
        pages += 1;
        cursor = page.next_cursor;
        await accept({}, own);
        await untilListed(own, before.length + pages);
      } while (cursor !== null);
      expect(seen.sort()).toEqual(before.sort());
      expect(pages).toBe(5);
    });

    test("ends without a cursor where the last page is just full", async () => {
      const own = await service.tenant();
      for (let index = 0; index < 4; index += 1) await accept({}, own);
      await untilListed(own, 4);
      const { next_cursor: cursor } = await list(own, { limit: 2 });
      expect((await list(own, { limit: 2, cursor: cursor ?? "" })).next_cursor).toBeNull();
    });

    test("has 25 messages a page by default, and 1 to 100 on request", async () => {
      const own = await service.tenant();
      await Promise.all(Array.from({ length: 27 }, () => accept({}, own)));
      await untilListed(own, 27);
      expect(await idsOf(own)).toHaveLength(25);
      expect(await idsOf(own, { limit: 1 })).toHaveLength(1);
      expect(await idsOf(own, { limit: 100 })).toHaveLength(27);
    });

    test("does not open another workspace by its cursor", async () => {
      const [own, other] = [await service.tenant(), await service.tenant()];
      for (let index = 0; index < 3; index += 1) await accept({}, own);
      await accept({}, other);
      await untilListed(own, 3);
      await untilListed(other, 1);
      const { next_cursor: cursor } = await list(other, { limit: 1 });
      expect(cursor).toBeNull();
      const otherCursor = (await list(own, { limit: 1 })).next_cursor ?? "";
      const answer = await other.call("GET", `/api/v1/emails?cursor=${otherCursor}`);
      expectProblem(answer, 400, "INVALID_REQUEST", ["/cursor"]);
    });

    const refused: readonly [string, string, string][] = [
      ["limit=0", "limit", "0"],
      ["limit=101", "limit", "101"],
      ["limit=-1", "limit", "-1"],
      ["limit=1.5", "limit", "1.5"],
      ["limit=ten", "limit", "ten"],
      ["an empty limit", "limit", ""],
      ["an unknown status", "status", "opened"],
      ["from that is no address", "from", "nobody"],
      ["to that is no address", "to", "Ana <ana@example.com>"],
      ["created_from in words", "created_from", "yesterday"],
      ["created_from without a zone", "created_from", "2026-01-01T00:00:00"],
      ["created_before without a time", "created_before", "2026-01-01"],
      ["created_before on a day that there is not", "created_before", "2026-02-30T00:00:00Z"],
      ["created_from past the year 9999", "created_from", "9999-12-31T23:59:59-23:00"],
      ["a cursor that is none", "cursor", "abc"],
      ["a cursor of another kind", "cursor", Buffer.from('["2026-01-01"]').toString("base64url")],
      ["an unknown parameter", "page", "2"],
      ["a parameter in another letter case", "Limit", "2"],
    ];
    for (const [what, name, value] of refused) {
      test(`refuses ${what} and names it`, async () => {
        const answer = await tenant.call("GET", query({ [name]: value }));
        expectProblem(answer, 400, "INVALID_REQUEST");
        expect(answer.json.errors.map((error: { pointer: string }) => error.pointer)).toEqual([`/${name}`]);
      });
    }
  });

  describe("cancelling", () => {
    test("a message that waits makes it canceled, and says so in its story", async () => {
      const id = await accept();
      const answer = await cancel(id);
      expect(answer.status).toBe(200);
      expect(answer.json).toMatchObject({ id, object: "email", status: "canceled" });
      expect(answer.json.timeline.at(-1)).toMatchObject({ type: "canceled", sequence: 2 });
      expect((await get(id)).text).toBe(answer.text);
    });

    test("twice is once", async () => {
      const id = await accept();
      const answers = await Promise.all(Array.from({ length: 10 }, () => cancel(id)));
      expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
      const types = (await service.log.store.read(emailStream(id), 0, 100)).map(({ type }) => type);
      expect(types).toEqual(["EmailContentStored", "EmailQueued", "EmailCanceled"]);
    });

    test("a message that was deferred makes it canceled", async () => {
      const id = await accept();
      await service.addEmailEvents(id, started, deferred);
      expect((await cancel(id)).json).toMatchObject({ status: "canceled", next_attempt_at: null });
    });

    test("a message in upper case is the same message", async () => {
      const id = await accept();
      expect((await cancel(id.toUpperCase())).json).toMatchObject({ id, status: "canceled" });
    });

    for (const [state, events] of [
      ["being sent", [started]],
      ["sent", [started, sent]],
      ["bounced", [started, bounced]],
      ["failed", [started, failed]],
    ] as const) {
      test(`a message that is ${state} is EMAIL_NOT_CANCELABLE, and changes nothing`, async () => {
        const id = await accept();
        await service.addEmailEvents(id, ...events);
        const before = await get(id);
        expectProblem(await cancel(id), 409, "EMAIL_NOT_CANCELABLE");
        expect((await get(id)).text).toBe(before.text);
      });
    }

    test("a message that the relay may have is EMAIL_NOT_CANCELABLE, and says so", async () => {
      const id = await accept();
      await service.addEmailEvents(id, started, deliveryUnknown);
      const before = await get(id);
      const refused = await cancel(id);
      expectProblem(refused, 409, "EMAIL_NOT_CANCELABLE");
      expect(refused.json.detail).toStartWith("The relay may have the message already");
      expect((await get(id)).text).toBe(before.text);
    });

    test("a message for its erasure does not hide that the relay took it: it is sent, in lists too", async () => {
      const own = await service.tenant();
      const id = await accept({}, own);
      await service.addEmailEvents(id, started, deliveryUnknown);
      const erased = await own.call("DELETE", `${PATH}/${id}/content`);
      expect(erased.json).toMatchObject({ status: "canceled", content_erased: true });
      await service.addEmailEvents(id, sent);
      const { json } = await get(id, own);
      expect(json).toMatchObject({ status: "sent", reason: null, content_erased: true });
      expect(json.timeline.slice(1).map(({ type }: { type: string }) => type)).toEqual([
        "delivery_started",
        "deferred",
        "canceled",
        "content_erased",
        "sent",
      ]);
      await until(
        async () => (await idsOf(own, { status: "sent" })).includes(id),
        "it in the list of those sent",
      );
      expect(await idsOf(own, { status: "canceled" })).toEqual([]);
      const { json: usage } = await own.call("GET", "/api/v1/usage");
      expect(usage.data).toMatchObject([{ accepted: 1, canceled: 1, sent: 1 }]);
    });

    test("another workspace's message is NOT_FOUND, and leaves it as it is", async () => {
      const id = await accept();
      expectProblem(await cancel(id, await service.tenant()), 404, "NOT_FOUND");
      expect((await get(id)).json.status).toBe("queued");
    });

    test("what is not there is NOT_FOUND", async () => {
      expectProblem(await cancel(UNKNOWN), 404, "NOT_FOUND");
    });

    const bodies: readonly [string, string | undefined, string | null, number][] = [
      ["no body", undefined, null, 200],
      ["no body, but called JSON", undefined, "application/json", 200],
      ["an empty object", "{}", "application/json", 200],
      ["what is no JSON, called JSON", "{", "application/json", 400],
      ["a form", "a=b", "application/x-www-form-urlencoded", 400],
      ["what is no form, called a form", "x", "multipart/form-data; boundary=y", 400],
    ];
    for (const [what, body, type, status] of bodies) {
      test(`${status === 200 ? "takes" : "refuses"} ${what}`, async () => {
        const id = await accept();
        const options = { body, headers: { "content-type": type } };
        const answer = await tenant.call("POST", `${PATH}/${id}/cancel`, options);
        const code = status === 200 ? undefined : "INVALID_REQUEST";
        expect({ status: answer.status, code: answer.json?.code }).toEqual({ status, code } as never);
        expect((await get(id)).json.status).toBe(status === 200 ? "canceled" : "queued");
      });
    }
  });

  describe("methods and paths", () => {
    test("HEAD answers as GET does, without the body", async () => {
      const id = await accept();
      for (const path of [`${PATH}/${id}`, PATH, "/webhooks", "/health/live"]) {
        const head = await tenant.call("HEAD", path);
        const complete = await tenant.call("GET", path);
        expect({ path, status: head.status, text: head.text }).toEqual({ path, status: 200, text: "" });
        expect(head.headers.get("content-type")).toBe(complete.headers.get("content-type"));
        const dates = [head, complete].map(({ headers }) => Date.parse(headers.get("date") ?? ""));
        expect(Math.abs((dates[0] as number) - (dates[1] as number))).toBeLessThan(5_000);
      }
    });

    test("HEAD is refused as GET is", async () => {
      const unknown = await tenant.call("HEAD", `${PATH}/${UNKNOWN}`);
      expect({ status: unknown.status, text: unknown.text }).toEqual({ status: 404, text: "" });
      const keyless = await tenant.call("HEAD", PATH, { headers: { authorization: null } });
      expect(keyless.status).toBe(401);
      expect(keyless.headers.get("x-request-id")).toMatch(/^[0-9a-z]{20}$/);
    });

    test("a trailing slash is the same route", async () => {
      const id = await accept();
      expect((await tenant.call("GET", `${PATH}/${id}/`)).json.id).toBe(id);
      expect((await tenant.call("GET", `${PATH}/?limit=1`)).status).toBe(200);
      expect((await tenant.call("GET", "/webhooks/")).status).toBe(200);
      expect((await tenant.call("POST", `${PATH}/${id}/cancel/`)).json.status).toBe("canceled");
      const answer = await tenant.call("POST", `${PATH}/`, {
        body: message(),
        headers: { "idempotency-key": newKey() },
      });
      expect(answer.status).toBe(202);
    });

    const allowed: readonly [string, readonly string[]][] = [
      [PATH, ["GET", "HEAD", "POST"]],
      [`${PATH}/`, ["GET", "HEAD", "POST"]],
      [`${PATH}/${UNKNOWN}`, ["GET", "HEAD"]],
      [`${PATH}/${UNKNOWN}/cancel`, ["POST"]],
      ["/webhooks", ["GET", "HEAD", "POST"]],
      ["/health/live", ["GET", "HEAD"]],
      ["/health/ready", ["GET", "HEAD"]],
    ];
    for (const [path, methods] of allowed) {
      for (const method of ["OPTIONS", "PUT", "PATCH", "DELETE"]) {
        test(`${method} ${path} is METHOD_NOT_ALLOWED and names what is`, async () => {
          const answer = await tenant.call(method, path);
          expectProblem(answer, 405, "METHOD_NOT_ALLOWED");
          expect((answer.headers.get("allow") ?? "").split(", ").sort()).toEqual([...methods]);
          expect(answer.headers.get("access-control-allow-origin")).toBeNull();
        });
      }
    }

    for (const path of ["/api", "/api/v1", "/api/v2/emails", "/emails", "/API/v1/emails", `${PATH}/x/y`]) {
      for (const method of ["GET", "POST", "OPTIONS"]) {
        test(`${method} ${path} is NOT_FOUND`, async () => {
          expectProblem(await tenant.call(method, path), 404, "NOT_FOUND");
        });
      }
    }
  });

  const oddHosts: readonly [string, readonly string[]][] = [
    ["a Host of one letter", ["HTTP/1.1", "Host: x"]],
    ["no Host, as HTTP/1.0 has it", ["HTTP/1.0"]],
  ];
  for (const [what, [version, ...headers]] of oddHosts) {
    test(`a request with ${what} finds its route`, async () => {
      const key = `Authorization: Bearer ${tenant.apiKey}`;
      for (const [target, status] of [
        ["GET /health/live", 200],
        [`GET ${PATH}?limit=1`, 200],
        [`HEAD ${PATH}?limit=1`, 200],
        [`PUT ${PATH}?limit=1`, 405],
        ["GET /nothing", 404],
      ]) {
        const answer = await rawRequest(service.url, [
          `${target} ${version}`,
          ...headers,
          key,
          "Connection: close",
          "",
          "",
        ]);
        expect(`${target}: ${answer.slice(0, 12)}`).toBe(`${target}: HTTP/1.1 ${status}`);
      }
    });
  }

  test("a Host that is no host is refused", async () => {
    const lines = ["GET /health/live HTTP/1.1", "Host: a [b", "Connection: close", "", ""];
    expect((await rawRequest(service.url, lines)).slice(0, 12)).toBe("HTTP/1.1 400");
  });

  test("a path in BASE_URL prefixes routes and links", async () => {
    const own = await startService(store, {
      BASE_URL: "https://mail.example.com/mail/",
      SMTP_URL: "outbox:",
    });
    try {
      const ownTenant = await own.tenant();
      expect(own.url).toEndWith("/mail");
      const answer = await ownTenant.send(newKey(), message());
      expect(answer.headers.get("location")).toBe(`/mail${PATH}/${answer.json.id}`);
      expect((await ownTenant.call("GET", `${PATH}/${answer.json.id}`)).status).toBe(200);
      expect((await ownTenant.call("GET", "/webhooks")).status).toBe(200);
      expect((await ownTenant.call("GET", "/health/live")).status).toBe(200);
      const refused = await ownTenant.call("OPTIONS", PATH);
      expectProblem(refused, 405, "METHOD_NOT_ALLOWED");
      // Neither the bare path nor one under another prefix is a route.
      for (const path of [PATH, `/liam${PATH}`, `/mai${PATH}`, `/mailbox${PATH}`]) {
        const response = await fetch(own.url.replace("/mail", path), { method: "OPTIONS" });
        expect({ path, status: response.status }).toEqual({ path, status: 404 });
      }
    } finally {
      await own.remove();
    }
  });
});
