import { describe, expect, test } from "bun:test";
import type { EmailEvent } from "../../../src/domain/email/events.ts";
import { DAY_MS } from "../../../src/kernel/time.ts";
import { logIn } from "../../support/dashboard.ts";
import { expectProblem } from "../../support/expectProblem.ts";
import { writeZip } from "../../support/files/zipWriter.ts";
import { setLimits } from "../../support/limits.ts";
import { acceptedId } from "../../support/mail/sentEmail.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, SENDER, type Tenant } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const PATH = "/api/v1/emails";
const FILE = { filename: "note.txt", content_type: "text/plain", content: btoa("A note.") };
const CONTENT = {
  to: "ana@example.org",
  to_name: "Ana",
  subject: "Your code",
  text: "4711",
  tags: ["codes"],
  attachments: [FILE],
};
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();

const started: EmailEvent = {
  type: "EmailDeliveryStarted",
  data: { attempt: 1, worker: "test", leaseMs: 120_000, transport: "smtp" },
};
const sent: EmailEvent = { type: "EmailSent", data: { attempt: 1, transport: "smtp", reply: "250" } };
const deferred = (ambiguous: boolean): EmailEvent => ({
  type: "EmailDeferred",
  data: {
    attempt: 1,
    reason: "greylisted",
    attemptBurnt: true,
    ambiguous,
    nextAttemptAt: inDays(1),
  },
});

describe.each(await testStores())("on $name", (store) => {
  const { service, tenant } = serviceFixture(store);

  const send = (body: Readonly<Record<string, unknown>>, as = tenant) => acceptedId(as, message(body));
  const get = async (id: string, as = tenant) => (await as.call("GET", `${PATH}/${id}`)).json;
  const again = (id: string, key: string | null, body?: object, as = tenant) =>
    as.call("POST", `${PATH}/${id}/send-again`, {
      ...(body === undefined ? {} : { body }),
      headers: key === null ? {} : { "idempotency-key": key },
    });
  const tryNow = (id: string, as = tenant) => as.call("POST", `${PATH}/${id}/try-now`);
  const erase = (id: string) => tenant.call("DELETE", `${PATH}/${id}/content`);

  describe("a message that is sent again", () => {
    test("is a new one with the same content, answered as a send is, and a repeat gets that answer", async () => {
      const id = await send(CONTENT);
      await service.addEmailEvents(id, started, sent);
      const key = newKey();
      const first = await again(id, key);
      expect(first.status).toBe(202);
      expect(Object.keys(first.json).sort()).toEqual(["created_at", "id", "object", "status"]);
      expect(first.json).toMatchObject({ object: "email", status: "queued" });
      expect(first.json.id).not.toBe(id);
      expect(first.headers.get("location")).toBe(`${PATH}/${first.json.id}`);
      const { content: _, ...file } = FILE;
      expect(await get(first.json.id)).toMatchObject({ from: SENDER, ...CONTENT, attachments: [file] });
      const repeat = await again(id, key, {});
      expect({ text: repeat.text, replayed: repeat.headers.get("idempotent-replayed") }).toEqual({
        text: first.text,
        replayed: "true",
      });
      expect((await again(id, newKey())).json.id).not.toBe(first.json.id);
      const found = await tenant.call("GET", `${PATH}?idempotency_key=again:${id}:${key}`);
      expect(found.json.data).toMatchObject([{ id: first.json.id }]);
    });

    test("goes to another recipient, without the name of the first, if the key may read it", async () => {
      const id = await send(CONTENT);
      const key = newKey();
      const { json } = await again(id, key, { to: "bo@example.org" });
      expect(await get(json.id)).toMatchObject({ to: "bo@example.org", to_name: null, text: "4711" });
      const other = await again(id, key);
      expectProblem(other, 409, "IDEMPOTENCY_CONFLICT");
      expect(other.json.email_id).toBe(json.id);
      const invalid = await again(id, newKey(), { to: "bo" });
      expectProblem(invalid, 400, "INVALID_REQUEST");
      expect(invalid.json.errors).toMatchObject([{ pointer: "/to" }]);
      const blind = await tenant.withKey({ scopes: ["email:send", "email:status"] });
      const refused = await again(id, newKey(), { to: "me@example.org" }, blind);
      expectProblem(refused, 403, "FORBIDDEN");
      expect(refused.json.detail).toContain("email:read");
      for (const body of [undefined, { to: CONTENT.to.toUpperCase() }])
        expect((await again(id, newKey(), body, blind)).status).toBe(202);
    });

    test("needs an Idempotency-Key, the scope email:send, and a message with content and files", async () => {
      const id = await send(CONTENT);
      for (const key of [null, "short"]) expectProblem(await again(id, key), 400, "IDEMPOTENCY_KEY_REQUIRED");
      const reader = await tenant.withKey({ scopes: ["email:read"] });
      expectProblem(await again(id, newKey(), undefined, reader), 403, "FORBIDDEN");
      expectProblem(await again(crypto.randomUUID(), newKey()), 404, "NOT_FOUND");
      const tester = await tenant.withKey({ isTest: true, scopes: ["email:send"] });
      expectProblem(await again(id, newKey(), undefined, tester), 404, "NOT_FOUND");
      const key = newKey();
      const first = await again(id, key);
      await erase(id);
      const gone = await again(id, newKey());
      expectProblem(gone, 404, "NOT_FOUND");
      expect(gone.json.detail).toContain("erased");
      // The answer was lost, and the content erased since: the retry must not lead to a third message.
      expect((await again(id, key)).text).toBe(first.text);
      expectProblem(await again(id, key, { to: "bo@example.org" }), 409, "IDEMPOTENCY_CONFLICT");
      const expired = await send(CONTENT);
      await service.addEmailEvents(expired, started, sent, { type: "EmailAttachmentsExpired", data: {} });
      const { contentEventId, workspaceId } = await stateOf(expired);
      await service.log.content.removeFolder({ workspaceId, ownerId: expired, folderId: contentEventId });
      expectProblem(await again(expired, newKey()), 410, "ATTACHMENT_EXPIRED");
    });

    test("passes the checks of a send: a pause, and a suppressed recipient", async () => {
      const own = await service.tenant();
      const id = await send(CONTENT, own);
      await own.call("POST", "/api/v1/suppressions", { body: { address: CONTENT.to } });
      const status = async () => (await again(id, newKey(), undefined, own)).json.status;
      await until(async () => (await status()) === "suppressed", "the suppression to be known");
      await own.call("POST", "/api/v1/workspace/pause");
      expectProblem(await again(id, newKey(), undefined, own), 403, "SENDING_PAUSED");
    });
  });

  test("a message is not sent again from a disabled sender, nor beyond a limit or with a file that is no longer allowed", async () => {
    const refusal = async (change: (own: Tenant) => Promise<unknown>, file = FILE) => {
      const own = await service.tenant();
      if (file !== FILE) await limit({ archiveAttachments: true })(own);
      const id = await send({ ...CONTENT, attachments: [file] }, own);
      await change(own);
      let code = "";
      await until(async () => {
        code = (await again(id, newKey(), undefined, own)).json.code ?? "";
        return code !== "";
      }, "a refusal");
      return code;
    };
    const disable = async (own: Tenant) => {
      const [{ id }] = (await own.call("GET", "/api/v1/senders")).json.data;
      await own.call("POST", `/api/v1/senders/${id}/disable`);
    };
    const limit = (changes: Parameters<typeof setLimits>[2]) => (own: Tenant) =>
      setLimits(service.log, own.workspaceId, changes);
    expect(await refusal(disable)).toBe("SENDER_UNAVAILABLE");
    expect(await refusal(limit({ messagesPerDay: 1 }))).toBe("DAILY_LIMIT_REACHED");
    expect(await refusal(limit({ storageBytes: 1 }))).toBe("STORAGE_LIMIT_EXCEEDED");
    const content = writeZip([{ name: "a.txt", content: "A note." }]).toString("base64");
    const archive = { filename: "a.zip", content_type: "application/zip", content };
    const forbid = limit({ archiveAttachments: false });
    expect(await refusal(forbid, archive)).toBe("ATTACHMENT_TYPE_UNSUPPORTED");
  });

  const stateOf = async (id: string) => {
    const [, accepted] = await service.log.store.read(`email-${id}`, 0, 2);
    return accepted?.data as { readonly contentEventId: string; readonly workspaceId: string };
  };

  describe("a message that is tried now", () => {
    const dueAt = async (id: string) => Date.parse((await get(id)).next_attempt_at);

    test.each([
      ["waits for its next attempt", false],
      ["may have been delivered", true],
    ])("is due at once if it %s, and a repeat changes nothing", async (_, ambiguous) => {
      const id = await send({});
      await service.addEmailEvents(id, started, deferred(ambiguous));
      expect(await dueAt(id)).toBeGreaterThan(Date.now());
      const answer = await tryNow(id);
      expect(answer.status).toBe(200);
      expect(answer.json).toMatchObject({ id, status: "deferred", attempts: 1 });
      expect(Date.parse(answer.json.next_attempt_at)).toBeLessThanOrEqual(Date.now());
      expect(answer.json.timeline.at(-1)).toMatchObject({ type: "deferred", reason: "resumed" });
      expect((await tryNow(id)).json.timeline).toEqual(answer.json.timeline);
    });

    test("is due at once if it is scheduled, and stays as it is if it is due", async () => {
      const id = await send({ scheduled_at: inDays(1) });
      const moved = await tryNow(id);
      expect(moved.json).toMatchObject({ id, status: "scheduled" });
      expect(Date.parse(moved.json.scheduled_at)).toBeLessThanOrEqual(Date.now());
      expect((await tryNow(id)).json.timeline).toEqual(moved.json.timeline);
      const queued = await send({});
      expect((await tryNow(queued)).json).toMatchObject({ id: queued, status: "queued" });
    });

    test("is refused once it has ended, and to whoever may not send, or from other senders", async () => {
      const id = await send({});
      await service.addEmailEvents(id, started, sent);
      const ended = await tryNow(id);
      expectProblem(ended, 409, "EMAIL_NOT_SCHEDULED");
      expect(ended.json.detail).toContain("it is sent");
      const reader = await tenant.withKey({ scopes: ["email:read"] });
      expectProblem(await tryNow(id, reader), 403, "FORBIDDEN");
      expectProblem(await tryNow(crypto.randomUUID()), 404, "NOT_FOUND");
      const body = { name: "bound", scopes: ["email:send"], senders: ["other.example"] };
      const { key } = (await tenant.call("POST", "/api/v1/api-keys", { body })).json;
      for (const action of ["try-now", "send-again"]) {
        const headers = { authorization: `Bearer ${key}`, "idempotency-key": newKey() };
        expectProblem(
          await tenant.call("POST", `${PATH}/${await send({})}/${action}`, { headers }),
          403,
          "FORBIDDEN",
        );
      }
    });
  });

  test("the dashboard lets a key send again to the same recipient only, unless it may read the content", async () => {
    const id = await send(CONTENT);
    const blind = await tenant.withKey({ scopes: ["email:send", "email:status"] });
    const visitor = await logIn(service.url, blind.apiKey);
    const at = `/messages/${id}/send-again`;
    const { html } = await visitor.get(at);
    expect(html).toContain(`<input type="hidden" name="to" value="${CONTENT.to}"`);
    expect(html).not.toContain(CONTENT.subject);
    const nonce = crypto.randomUUID();
    expect((await visitor.post(at, { to: "me@example.org", nonce })).status).toBe(403);
    expect((await visitor.post(at, { to: CONTENT.to, nonce })).status).toBe(303);
  });
});
