import { describe, expect, test } from "bun:test";
import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { acceptedId, deliveredId, emailOf } from "../../support/mail/sentEmail.ts";
import { serviceWithRelay } from "../../support/serviceWithRelay.ts";
import { SENDGRID_KEYS, sendgridCall } from "../../support/signedReports.ts";
import { type TestStore, testStores } from "../../support/stores/stores.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";
import { message } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const NO_SUCH_USER = {
  type: "bounce",
  bounce_classification: "Invalid Address",
  reason: "550 5.1.1 user unknown",
  status: "5.1.1",
};

describe.each(await testStores())("webhook calls of SendGrid on $name", (store: TestStore) => {
  const content = temporaryFolder();
  const fixture = serviceWithRelay(store, {
    query: "?provider=sendgrid&return_path=off",
    env: {
      SENDGRID_VERIFICATION_KEY: SENDGRID_KEYS.shown,
      // A log has one content store.
      ...(store.isShared ? {} : { CONTENT_URL: `file:${content}` }),
    },
  });

  /** A message, and what SendGrid would tell of it in each of its events. */
  async function sent(name: string) {
    const email = `${name}-${crypto.randomUUID()}@example.net`;
    const id = await deliveredId(fixture.tenant, email);
    const raw = fixture.sink.record.messages.find((one) => one.to.includes(email))?.raw.toString() ?? "";
    const fields = [...raw.matchAll(/^X-SMTPAPI: (.+)\r$/gim)].map(([, json = ""]) => JSON.parse(json));
    expect(fields).toEqual([{ unique_args: { postledger_id: id } }]);
    const smtpId = /^Message-ID: (.+)\r$/im.exec(raw)?.[1];
    const ids = {
      timestamp: 1_513_299_569,
      sg_event_id: crypto.randomUUID(),
      sg_message_id: "14c5d75ce93.0",
    };
    return { id, of: { email, "smtp-id": smtpId, ...ids, ...fields[0].unique_args } };
  }

  const post = (call: ReturnType<typeof sendgridCall>) =>
    fixture.tenant.call("POST", `/feedback/sendgrid/${fixture.tenant.workspaceId}`, call);

  async function endOf({ id, of }: Awaited<ReturnType<typeof sent>>) {
    const { status, timeline } = await emailOf(fixture.tenant, id);
    const { reason, source } = timeline.at(-1);
    const suppression = await fixture.tenant.call("GET", `/api/v1/suppressions/${of.email}`);
    return [status, source ?? null, reason ?? null, suppression.status === 200];
  }

  test("an array is taken whole, whatever else is in it, and a repeat changes nothing", async () => {
    const names = ["delivered", "complaint", "bounce", "block", "dropped", "deferred", "opened"];
    const all = await Promise.all(names.map(sent));
    const [delivered, complaint, bounce, block, dropped, deferred, opened] = all.map(({ of }) => of);
    const { postledger_id: _, ...bySmtpId } = delivered ?? {};
    const { "smtp-id": __, ...byArgument } = complaint ?? {};
    const events = [
      { ...delivered, event: "processed" },
      { ...bySmtpId, event: "delivered", response: "250 OK" },
      null,
      { ...byArgument, event: "spamreport" },
      "delivered",
      { ...bounce, event: "bounce", ...NO_SUCH_USER },
      [{ ...opened, event: "spamreport" }],
      { ...block, event: "bounce", type: "blocked", reason: "554 5.7.1 listed", status: "5.7.1" },
      { event: "bounce", type: {}, reason: 550, status: null, email: ["x"], "smtp-id": {} },
      { ...dropped, event: "dropped", reason: "Bounced Address" },
      { ...deferred, event: "deferred", response: "400 try again later", attempt: "5" },
      { ...opened, event: "open" },
      { ...opened, event: "unsubscribe" },
    ];
    const ends = [
      ["delivered", "sendgrid", null, false],
      ["complained", "sendgrid", null, true],
      ["bounced", "sendgrid", "recipient_address_rejected", true],
      ["bounced", "sendgrid", "policy_rejected", false],
      ["bounced", "sendgrid", "relay_suppressed", false],
      ["sent", null, null, false],
      ["sent", null, null, false],
    ];
    const call = sendgridCall(events);
    const { status, text } = await post(call);
    expect({ status, text }).toEqual({ status: 204, text: "" });
    expect(await Promise.all(all.map(endOf))).toEqual(ends);
    const timelines = () =>
      Promise.all(all.map(async ({ id }) => (await emailOf(fixture.tenant, id)).timeline));
    const before = await timelines();
    for (const again of [call, sendgridCall(events, { ageS: 1 })])
      expect((await post(again)).status).toBe(204);
    expect(await timelines()).toEqual(before);
  });

  // Other tests read a shared log, too.
  test.skipIf(store.isShared)(
    "a message that cannot be read keeps no other report from being taken, and SendGrid repeats the call",
    async () => {
      const [damaged, last] = await Promise.all([sent("damaged"), sent("last")]);
      const unknown = {
        id: crypto.randomUUID(),
        type: "LaunchedToTheMoon",
        data: {},
        metadata: { schema: 1 },
      };
      const { store: log } = fixture.service.log;
      const stream = `email-${damaged.id}`;
      await log.append(stream, [unknown], Number(await log.lastRevision(stream)));
      const events = [
        { ...damaged.of, event: "delivered" },
        ...Array.from({ length: 50 }, () => ({ ...damaged.of, event: "spamreport" })),
        { ...last.of, event: "delivered" },
      ];
      expect((await post(sendgridCall(events))).json).toMatchObject({ status: 500, code: "INTERNAL_ERROR" });
      expect((await endOf(last))[0]).toBe("delivered");
    },
  );

  test.skipIf(store.isShared)(
    "content that is damaged keeps no other report from being taken, nor one that needs nothing of it",
    async () => {
      const last = await sent("last");
      const to = `${crypto.randomUUID()}@example.net`;
      // Content of this size is in the content store.
      const id = await acceptedId(
        fixture.tenant,
        message({ to, html: "<p>ü</p>".repeat(45_000), text: "ü".repeat(190_000) }),
      );
      await until(
        async () => (await emailOf(fixture.tenant, id)).status === "sent",
        "the message to be sent",
      );
      for (const path of await readdir(content, { recursive: true })) {
        const file = join(content, path);
        if ((await stat(file)).size > 100_000) await writeFile(file, "damaged");
      }
      const large = { email: to, postledger_id: id };
      const bounces = Array.from({ length: 50 }, () => ({ ...large, event: "bounce", ...NO_SUCH_USER }));
      const events = [...bounces, { ...last.of, event: "delivered" }];
      expect((await post(sendgridCall(events))).status).toBe(503);
      expect((await endOf(last))[0]).toBe("delivered");
      expect((await post(sendgridCall([{ ...large, event: "delivered" }]))).status).toBe(204);
    },
  );
});
