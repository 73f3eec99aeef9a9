import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readEmailState } from "../../../src/commands/email/readEmail.ts";
import { emailStream } from "../../../src/domain/email/events.ts";
import { logIn } from "../../support/dashboard.ts";
import { acceptedEmail, acceptedId, emailOf, faultsIn } from "../../support/mail/sentEmail.ts";
import type { Answer } from "../../support/service.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, SENDER, type Tenant, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";
import { startWebhookWorld, type WebhookWorld } from "../../support/webhook/webhookWorld.ts";

const PATH = "/api/v1/emails";
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
/** Soon, but late enough for what a test does before. */
const SOON_MS = 3_000;
/** How long after its deadline a message may still wait, on cores that are shared; longer if its service is starting. */
const LATE_MS_MAX = 5_000;
const STARTING_MS_MAX = 40_000;
const KEPT = { content_retention: "until_final_status" };
const FILE = { filename: "note.txt", content_type: "text/plain", content: btoa("471108") };

describe.each(await testStores())("one-time codes on $name", (store) => {
  let world: WebhookWorld;
  let service: TestService;
  let tenant: Tenant;
  beforeAll(async () => {
    // No relay: only mail to the simulator is delivered.
    world = await startWebhookWorld(store, ["told"], { env: { SMTP_URL: "smtp://127.0.0.1:1" } });
    service = world.service;
    tenant = await service.tenant();
    await tenant.call("POST", "/webhooks", {
      body: { url: world.urlOf("told"), include: ["to", "subject"] },
    });
  });
  afterAll(() => world.remove());

  const code = (parts: object = {}) => message({ text: "Your code is 471108.", ...parts });
  const ended = (id: string, as = tenant) =>
    until(async () => (await emailOf(as, id)).waiting === null, "the message to end");

  /** Waits for the end of a message with this deadline, which must be in time and without any attempt. */
  async function expires(id: string, deadline: string, as = tenant, lateMsMax = LATE_MS_MAX): Promise<void> {
    await ended(id, as);
    const { status, reason, attempts, timeline } = await emailOf(as, id);
    expect({ status, reason, attempts }).toEqual({ status: "failed", reason: "expired", attempts: 0 });
    const failed = timeline.find(({ type }: { type: string }) => type === "failed");
    const lateMs = Date.parse(failed.at) - Date.parse(deadline);
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThan(lateMsMax);
  }

  describe("deliver_before", () => {
    const refusal = async (answer: Promise<Answer>) => faultsIn(await answer);
    const refused = (message: RegExp, pointer = "/deliver_before") => [
      { pointer, message: expect.stringMatching(message) },
    ];

    test("is shown, up to 72 hours after the request or the scheduled time; both fields are null without", async () => {
      for (const [deliver_before, scheduled_at] of [
        [inMs(10 * MINUTE_MS), undefined],
        [inMs(72 * HOUR_MS - MINUTE_MS), undefined],
        [inMs(73 * HOUR_MS), inMs(2 * HOUR_MS)],
      ]) {
        const email = await acceptedEmail(tenant, code({ deliver_before, scheduled_at, ...KEPT }));
        expect(email).toMatchObject({ deliver_before, ...KEPT, text: "Your code is 471108." });
      }
      const local = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + HOUR_MS);
      const offset = `${new Date(local.getTime() + 2 * HOUR_MS).toISOString().slice(0, 19)}+02:00`;
      const shown = await acceptedEmail(tenant, code({ deliver_before: offset }));
      expect(shown.deliver_before).toBe(local.toISOString());
      const without = await acceptedEmail(tenant, code());
      expect(without).toMatchObject({ deliver_before: null, content_retention: null });
    });

    test("is refused by its name when it is over, too late, not after the scheduled time, or no time", async () => {
      const send = (parts: object) => refusal(tenant.send(newKey(), code(parts)));
      expect(await send({ deliver_before: inMs(-1) })).toEqual(
        refused(/^must be in the future: the service's clock says 20/),
      );
      expect(await send({ deliver_before: inMs(73 * HOUR_MS) })).toEqual(
        refused(/^must be at most 72 hours after the request$/),
      );
      const scheduled_at = inMs(2 * HOUR_MS);
      expect(await send({ scheduled_at, deliver_before: scheduled_at })).toEqual(
        refused(/^must be after scheduled_at$/),
      );
      expect(await send({ scheduled_at, deliver_before: inMs(75 * HOUR_MS) })).toEqual(
        refused(/^must be at most 72 hours after scheduled_at$/),
      );
      for (const text of ["soon", "", "2030-02-30T00:00:00Z", "600"])
        expect(await send({ deliver_before: text })).toEqual(refused(/date-time as in RFC 3339/));
      for (const other of [600, {}])
        expect(await send({ deliver_before: other })).toEqual(refused(/must be/));
      expect(await send({ expires_at: inMs(MINUTE_MS) })).toEqual(
        refused(/did you mean deliver_before\?$/, "/expires_at"),
      );
      for (const other of ["until_sent", true, ""])
        expect(await send({ content_retention: other })).toEqual(
          refused(/^must be until_final_status$/, "/content_retention"),
        );
    });

    test("belongs to the content that retries are compared by, and a retry is answered even when it is over", async () => {
      const [key, deliver_before] = [newKey(), inMs(SOON_MS)];
      const first = await tenant.send(key, code({ deliver_before }));
      expect(first.status).toBe(202);
      expect((await tenant.send(key, code({ deliver_before }))).text).toBe(first.text);
      for (const other of [{}, { deliver_before: inMs(MINUTE_MS) }, { deliver_before, ...KEPT }])
        expect((await tenant.send(key, code(other))).json.code).toBe("IDEMPOTENCY_CONFLICT");
      await expires(first.json.id, deliver_before);
      const repeat = await tenant.send(key, code({ deliver_before }));
      expect({ text: repeat.text, replayed: repeat.headers.get("idempotent-replayed") }).toEqual({
        text: first.text,
        replayed: "true",
      });
    });

    test("ends a message soon after it, whatever that waits for, in a batch too", async () => {
      const [paused, disabled] = [await service.tenant(), await service.tenant()];
      const deliver_before = inMs(SOON_MS);
      const body = code({ deliver_before });
      const emails = [{ idempotency_key: newKey(), ...body }];
      const { json } = await tenant.call("POST", `${PATH}/batch`, { body: { emails } });
      const scheduled = { ...body, scheduled_at: inMs(SOON_MS / 2) };
      const [heldBack, later, unavailable] = [
        await acceptedId(paused, body),
        await acceptedId(paused, scheduled),
        await acceptedId(disabled, { ...body, ...KEPT }),
      ];
      await service.pause(paused.workspaceId);
      await service.addSenderEvent(disabled.workspaceId, SENDER, { type: "SenderDisabled", data: {} });
      await Promise.all([
        expires(json.data[0].id, deliver_before),
        expires(heldBack, deliver_before, paused),
        expires(later, deliver_before, paused),
        expires(unavailable, deliver_before, disabled),
      ]);
      expect(await emailOf(disabled, unavailable)).toMatchObject({ content_erased: true, to: null });
    });

    test("holds for sends from a template and with a test key", async () => {
      const { json: template } = await tenant.call("POST", "/api/v1/templates", { body: { name: "Code" } });
      const versions = `/api/v1/templates/${template.id}/versions`;
      const draft = {
        subject: "Code",
        text: "Your code is {{ code }}.",
        variables: [{ name: "code", type: "string" }],
      };
      const { json: version } = await tenant.call("POST", versions, { body: draft });
      await tenant.call("POST", `${versions}/${version.id}/publish`);
      const deliver_before = inMs(SOON_MS);
      const { subject: _, text: __, ...envelope } = code({ deliver_before, ...KEPT });
      const id = await acceptedId(tenant, {
        ...envelope,
        template_id: template.id,
        variables: { code: "471108" },
      });
      expect(await emailOf(tenant, id)).toMatchObject({ text: "Your code is 471108.", deliver_before });
      await expires(id, deliver_before);
      const tester = await tenant.withKey({ isTest: true });
      const test = await acceptedId(tester, code({ deliver_before: inMs(MINUTE_MS), ...KEPT }));
      await ended(test, tester);
      expect(await emailOf(tester, test)).toMatchObject({
        status: "delivered",
        content_erased: true,
        text: null,
      });
    });

    test("is the last time to which the message can be moved", async () => {
      const deliver_before = inMs(2 * HOUR_MS);
      const id = await acceptedId(tenant, code({ scheduled_at: inMs(HOUR_MS), deliver_before }));
      const move = (scheduled_at: string) =>
        tenant.call("POST", `${PATH}/${id}/reschedule`, { body: { scheduled_at } });
      expect(await refusal(move(deliver_before))).toEqual(
        refused(/^must be before the deliver_before of the message$/, "/scheduled_at"),
      );
      expect((await move(inMs(HOUR_MS + MINUTE_MS))).status).toBe(200);
      expect(await emailOf(tenant, id)).toMatchObject({ status: "scheduled", deliver_before });
    });
  });

  describe("content_retention", () => {
    /** The first event that the message's stream still has, and whether the content store still has its file. */
    async function remains(id: string) {
      const [first] = await service.log.store.read(emailStream(id), 0, 1);
      const email = await readEmailState(service.log.store, id);
      if (email === null) throw new Error("the message was never accepted");
      const folder = { workspaceId: tenant.workspaceId, ownerId: id, folderId: email.contentEventId };
      const sha256 = new Bun.CryptoHasher("sha256").update("471108").digest("hex");
      return {
        firstRevision: first?.revision,
        hasFile: (await service.log.content.get(folder, sha256)) !== null,
      };
    }

    const ENDS = [
      ["delivered", "delivered@simulator.test"],
      ["bounced", "bounced@simulator.test"],
      ["complained", "complained@simulator.test"],
      ["suppressed", "suppressed@simulator.test"],
      ["canceled", "ana@example.com"],
    ] as const;

    test.each(ENDS)("erases everything as soon as the message is %s", async (status, to) => {
      const key = newKey();
      const body = code({
        to,
        ...KEPT,
        tags: ["login-code"],
        metadata: { user: "u-81" },
        attachments: [FILE],
      });
      const first = await tenant.send(key, body);
      const { id } = first.json;
      if (status === "canceled") {
        const canceled = await tenant.call("POST", `${PATH}/${id}/cancel`);
        expect(canceled.json).toMatchObject({ status, content_erased: true, to: null });
      }
      await until(async () => (await emailOf(tenant, id)).status === status, `the message to be ${status}`);
      const email = await emailOf(tenant, id);
      expect(email).toMatchObject({
        ...{ from: null, to: null, subject: null, text: null, metadata: null },
        ...{ tags: [], attachments: [], content_erased: true, ...KEPT },
      });
      const erased = email.timeline.filter(({ type }: { type: string }) => type === "content_erased");
      expect(erased).toEqual([expect.objectContaining({ reason: "final_status" })]);
      await until(async () => {
        const { firstRevision, hasFile } = await remains(id);
        return firstRevision === 1 && !hasFile;
      }, "the bytes to be gone");
      const repeat = await tenant.send(key, body);
      expect({ text: repeat.text, replayed: repeat.headers.get("idempotent-replayed") }).toEqual({
        text: first.text,
        replayed: "true",
      });
      const tagged = async () =>
        (await tenant.call("GET", `${PATH}?tag=login-code&limit=100`)).json.data.some(
          (one: { id: string }) => one.id === id,
        );
      await until(tagged, "the message to be found by its tag");
      const told = () =>
        world.receiver.calls
          .map(({ body: text }) => JSON.parse(text))
          .find((one) => one.type === `email.${status}` && one.data.id === id);
      await until(() => told() !== undefined, "the webhook");
      expect(told().data).toMatchObject({ metadata: null, tags: [], to: null, subject: null });
    });

    test("keeps the content of a message that can still be sent", async () => {
      const id = await acceptedId(tenant, code({ to: "deferred@simulator.test", ...KEPT }));
      await until(async () => (await emailOf(tenant, id)).status === "deferred", "an attempt");
      expect(await emailOf(tenant, id)).toMatchObject({
        text: "Your code is 471108.",
        content_erased: false,
      });
    });

    test("erases what a file came with, but not an upload that it was sent from", async () => {
      const upload = await tenant.call("POST", "/api/v1/attachments", { body: FILE });
      const path = `/api/v1/attachments/${upload.json.id}`;
      const isReady = async () => (await tenant.call("GET", path)).json.status === "ready";
      await until(isReady, "the upload to be checked");
      const body = code({ to: "delivered@simulator.test", attachments: [upload.json.id], ...KEPT });
      const id = await acceptedId(tenant, body);
      await ended(id);
      await until(async () => !(await remains(id)).hasFile, "the message's file to be gone");
      expect(await isReady()).toBe(true);
      expect((await emailOf(tenant, id)).attachments).toEqual([]);
    });

    test("is told by the dashboard, which can send nothing again", async () => {
      const { id } = await acceptedEmail(tenant, code(KEPT));
      const visitor = await logIn(service.url, tenant.apiKey);
      const asked = await visitor.get(
        `/messages/${(await acceptedEmail(tenant, code({ deliver_before: inMs(HOUR_MS) }))).id}/send-again`,
      );
      expect(asked.html).toContain("The new message has no such time.");
      expect((await visitor.get(`/messages/${id}`)).html).toContain(
        "as soon as the message has ended, as its send asked",
      );
      await tenant.call("POST", `${PATH}/${id}/cancel`);
      const { html } = await visitor.get(`/messages/${id}`);
      expect(html).toContain("Erased when the message had ended, as its send asked");
      expect(html).toContain("Its send had asked for that");
      expect(html).not.toContain("send-again");
      const again = await visitor.get(`/messages/${id}/send-again`);
      expect(again.html).toContain("was erased when it had ended, as its send asked");
    });
  });

  test("both hold across a restart", async () => {
    const deliver_before = inMs(SOON_MS);
    const id = await acceptedId(tenant, code({ deliver_before, ...KEPT }));
    await service.restart();
    await expires(id, deliver_before, tenant, STARTING_MS_MAX);
    expect(await emailOf(tenant, id)).toMatchObject({ content_erased: true, text: null, ...KEPT });
  }, 60_000);
});
