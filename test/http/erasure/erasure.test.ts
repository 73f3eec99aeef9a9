import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { projections } from "../../../projections/index.ts";
import { sqliteReadDatabases } from "../../../src/adapters/sqlite/readModelDatabases.ts";
import { emailAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import { sendEmail } from "../../../src/commands/email/send/sendEmail.ts";
import { recordBackupOrExport } from "../../../src/commands/instance/recordBackupOrExport.ts";
import { transact } from "../../../src/commands/transact.ts";
import { recordOutcome } from "../../../src/domain/email/decisions.ts";
import { DELIVERY_POLICY } from "../../../src/domain/email/delivery/deliveryPolicy.ts";
import { type EmailEvent, emailStream } from "../../../src/domain/email/events.ts";
import { erasureStream } from "../../../src/domain/erasure/events.ts";
import { INSTANCE_STREAM } from "../../../src/domain/instance/events.ts";
import { suppressionStream } from "../../../src/domain/suppression/events.ts";
import { eventHash } from "../../../src/kernel/event/eventHash.ts";
import { DAY_MS } from "../../../src/kernel/time.ts";
import { verifyReadModels } from "../../../src/readModels/verifyReadModels.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { expectProblem } from "../../support/expectProblem.ts";
import { direct, formOf, pdf, txt } from "../../support/files/uploadFiles.ts";
import { setLimits } from "../../support/limits.ts";
import { acceptedId } from "../../support/mail/sentEmail.ts";
import { runCommand } from "../../support/process/runCommand.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, SENDER } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";
import { verifyWholeLog } from "../../support/verifyWholeLog.ts";

/** Much of this waits for what a service does by itself, on cores that are shared. */
setDefaultTimeout(60_000);
const SETTLED_MS_MAX = 120_000;

const EMAILS = "/api/v1/emails";
const ERASURES = "/api/v1/erasures";
const SUPPRESSIONS = "/api/v1/suppressions";
const UPLOADS = "/api/v1/attachments";
const UNKNOWN = "00000000-0000-5000-8000-000000000000";

const started: EmailEvent = {
  type: "EmailDeliveryStarted",
  data: { attempt: 1, worker: "test", leaseMs: 3_600_000, transport: "smtp" },
};
const sent: EmailEvent = { type: "EmailSent", data: { attempt: 1, transport: "smtp", reply: "250 taken" } };

describe.each(await testStores())("erasure on $name", (store) => {
  const { service, tenant } = serviceFixture(store, {});
  let personCount = 0;
  const newPerson = () => {
    personCount += 1;
    return `person-${personCount}@example.com`;
  };

  const accept = (parts: Record<string, unknown> = {}, caller = tenant) => acceptedId(caller, message(parts));
  const get = async (id: string) => (await tenant.call("GET", `${EMAILS}/${id}`)).json;
  const sentTo = async (address: string): Promise<readonly string[]> => {
    const { json } = await tenant.call("GET", `${EMAILS}?to=${address}`);
    return json.data.map(({ id }: { id: string }) => id);
  };
  const erase = (id: string, caller = tenant) => caller.call("DELETE", `${EMAILS}/${id}/content`);
  const firstRevision = async (stream: string) => (await service.log.store.read(stream, 0, 1))[0]?.revision;
  const isCleared = async (id: string) => (await firstRevision(emailStream(id))) === 1;
  const untilCleared = (id: string) => until(() => isCleared(id), `${id} to be cleared`, SETTLED_MS_MAX);
  const owners = async () => {
    const found = new Set<string>();
    for await (const folder of service.log.content.folders()) found.add(folder.ownerId);
    return found;
  };
  const timelineOf = (json: { timeline: { type: string }[] }) => json.timeline.map(({ type }) => type);
  /** Ends the claim of a message as its worker would. */
  const endClaim = async (id: string, reply = "250 taken") => {
    const context = {
      at: Date.now(),
      correlationId: "test",
      actor: "test",
      workspaceId: tenant.workspaceId,
    };
    const on = {
      policy: DELIVERY_POLICY,
      input: { now: Date.now(), random: 0, pausedMs: 0 },
      transport: "smtp",
    };
    await transact(
      service.log.store,
      emailAggregate.of(id),
      (state) => recordOutcome(state, 1, { kind: "sent", codes: reply }, on),
      context,
    );
  };
  const upload = async (name: string): Promise<string> => {
    const { status, json } = await tenant.call("POST", UPLOADS, formOf(pdf(name)));
    expect(status).toBe(201);
    const isReady = async () => (await tenant.call("GET", `${UPLOADS}/${json.id}`)).json.status === "ready";
    await until(isReady, "the upload to be checked", SETTLED_MS_MAX);
    return json.id;
  };
  const request = async (address: string) => {
    const answer = await tenant.call("POST", ERASURES, { body: { address } });
    expect(answer.status).toBe(202);
    return answer;
  };
  const completed = async (id: string) => {
    const readErasure = async () => (await tenant.call("GET", `${ERASURES}/${id}`)).json;
    await until(
      async () => (await readErasure()).status === "completed",
      "the erasure to complete",
      SETTLED_MS_MAX,
    );
    return readErasure();
  };

  describe("of one message's content", () => {
    test("cancels what waits, and nothing of it is shown or kept", async () => {
      const key = newKey();
      const body = message({
        from_name: "Shop",
        to_name: "Ana",
        reply_to: "desk@example.com",
        reply_to_name: "Desk",
        html: "<p>secret</p>",
        metadata: { order: "secret" },
        attachments: [direct(txt(100)), direct(pdf())],
      });
      const accepted = await tenant.send(key, body);
      const { id } = accepted.json;
      const usedBefore = await service.log.storage.used(tenant.workspaceId);
      const answer = await erase(id);
      expect(answer.status).toBe(200);
      expect(answer.json).toMatchObject({
        id,
        status: "canceled",
        content_erased: true,
        from: null,
        to: null,
        from_name: null,
        to_name: null,
        reply_to: null,
        reply_to_name: null,
        subject: null,
        html: null,
        text: null,
        metadata: null,
        attachments: [],
      });
      expect(timelineOf(answer.json).slice(-3)).toEqual([
        "canceled",
        "content_erased",
        "attachments_expired",
      ]);
      expect(await isCleared(id)).toBe(true);
      expect((await owners()).has(id)).toBe(false);
      expect(await service.log.storage.used(tenant.workspaceId)).toBeLessThan(usedBefore);
      const repeat = await erase(id);
      expect({ status: repeat.status, text: repeat.text }).toEqual({ status: 200, text: answer.text });
      // The key answers as it did.
      const replayed = await tenant.send(key, body);
      expect(replayed.status).toBe(202);
      expect(replayed.text).toBe(accepted.text);
      expect(replayed.headers.get("idempotent-replayed")).toBe("true");
      expectProblem(await tenant.send(key, { ...body, subject: "Other" }), 409, "IDEMPOTENCY_CONFLICT");
      const byKey = await tenant.call("GET", `${EMAILS}?idempotency_key=${key}`);
      expect(byKey.json.data).toMatchObject([{ id, to: null, subject: null }]);
    });

    test("leaves the rest of the story to be read, also of what was too large for the log", async () => {
      const id = await accept({ html: "x".repeat(450_000), text: "y".repeat(190_000) });
      expect((await owners()).has(id)).toBe(true);
      await service.addEmailEvents(id, started, sent);
      const answer = await erase(id);
      expect(answer.json).toMatchObject({ status: "sent", content_erased: true, html: null });
      expect(timelineOf(await get(id))).toEqual(["queued", "delivery_started", "sent", "content_erased"]);
      expect((await owners()).has(id)).toBe(false);
    });

    test("waits for the end of the delivery under way", async () => {
      const id = await accept({ subject: "Still needed" });
      await service.addEmailEvents(id, started);
      const answer = await erase(id);
      expect(answer.status).toBe(202);
      expect(answer.json).toMatchObject({
        status: "sending",
        content_erased: false,
        subject: "Still needed",
      });
      expect(timelineOf((await erase(id)).json).at(-1)).toBe("content_erasure_requested");
      expect(timelineOf(await get(id)).filter((type) => type === "content_erasure_requested")).toHaveLength(
        1,
      );
      await endClaim(id);
      expect(await get(id)).toMatchObject({ status: "sent", content_erased: true, subject: null });
      await untilCleared(id);
    });

    test("is finished by the service if the process that began it has died", async () => {
      const id = await accept({ attachments: [direct(txt(100))] });
      await service.addEmailEvents(id, started, sent, {
        type: "EmailContentErased",
        data: { reason: "requested" },
      });
      expect(await get(id)).toMatchObject({ content_erased: true, subject: null });
      await untilCleared(id);
      await until(async () => !(await owners()).has(id), "its files to be removed", SETTLED_MS_MAX);
      await until(
        async () => timelineOf(await get(id)).includes("attachments_expired"),
        "it to end",
        SETTLED_MS_MAX,
      );
    });

    test("is sent to no webhook endpoint any more", async () => {
      const own = await service.tenant();
      await service.addEndpoints(own.workspaceId, ["https://hooks.example.com/a"]);
      const id = await accept({ metadata: { order: "secret-4711" } }, own);
      const endpoints = await own.call("GET", "/webhooks");
      const path = `/webhooks/${endpoints.json.data[0].id}/deliveries`;
      let delivery = "";
      await until(async () => {
        delivery = (await own.call("GET", path)).json?.data?.[0]?.id ?? "";
        return delivery !== "";
      }, "the delivery to be created");
      const payload = async () => (await own.call("GET", `${path}/${delivery}`)).json.payload;
      expect((await payload()).data.metadata).toEqual({ order: "secret-4711" });
      await erase(id, own);
      expect((await payload()).data).toMatchObject({ id, metadata: null });
    });

    test("is refused for what is not there, or another's", async () => {
      const other = await service.tenant();
      const id = await accept();
      for (const [who, what] of [
        [other, id],
        [tenant, UNKNOWN],
      ] as const)
        expectProblem(await erase(what, who), 404, "NOT_FOUND");
      expect((await get(id)).content_erased).toBe(false);
    });
  });

  describe("of a person", () => {
    test("removes all messages, files and suppressions of the person, and leaves everybody else's", async () => {
      const [person, other] = [newPerson(), newPerson()];
      const personsUpload = await upload("for-person.pdf");
      const shared = await upload("for-both.pdf");
      const key = newKey();
      const waiting = message({ to: person, attachments: [personsUpload, shared, direct(txt(50))] });
      const { id: waits } = (await tenant.send(key, waiting)).json;
      const delivered = await accept({ to: person.toUpperCase().replace("EXAMPLE.COM", "example.com") });
      await service.addEmailEvents(delivered, started, sent);
      const personsMessage = await accept({ to: person });
      await erase(personsMessage);
      const others = await accept({ to: other, subject: "Kept", attachments: [shared] });
      for (const note of ["first", "second"]) {
        await tenant.call("POST", SUPPRESSIONS, { body: { address: person, note } });
        if (note === "first") await tenant.call("DELETE", `${SUPPRESSIONS}/${person}`);
      }
      await tenant.call("POST", SUPPRESSIONS, { body: { address: other, note: "kept" } });
      const before = await service.log.store.read(
        suppressionStream(service.log.keys.hashAddress(tenant.workspaceId, person)),
        0,
        100,
      );

      await recordBackupOrExport(
        service.log.store,
        { kind: "backup", place: "/backups/one" },
        systemCommandContext("test"),
      );
      const answer = await request(person);
      expect(answer.headers.get("location")).toBe(`${ERASURES}/${answer.json.id}`);
      const { report, ...rest } = await completed(answer.json.id);
      expect(rest).toEqual({
        id: answer.json.id,
        object: "erasure",
        status: "completed",
        reference: null,
        created_at: answer.json.created_at,
        completed_at: expect.any(String),
      });
      expect(report).toMatchObject({
        messages_erased: 2,
        messages_canceled: 1,
        messages_erased_before: 1,
        messages_with_files: 1,
        outbox_messages: 0,
        uploads_erased: 1,
        uploads_kept: [shared],
        suppressions_erased: 1,
        remains: [],
        copies: expect.arrayContaining([{ kind: "backup", taken_at: expect.any(String) }]),
      });

      expect(await get(waits)).toMatchObject({ status: "canceled", content_erased: true, to: null });
      expect(await get(delivered)).toMatchObject({ status: "sent", content_erased: true, to: null });
      expect(
        (await get(waits)).timeline.find((one: { type: string }) => one.type === "content_erased"),
      ).toEqual({
        type: "content_erased",
        at: expect.any(String),
        sequence: expect.any(Number),
        reason: "person",
        erasure_id: answer.json.id,
      });
      expect(await get(others)).toMatchObject({ content_erased: false, to: other, subject: "Kept" });
      // Nobody finds them by the address any more: not a list, and not another request.
      expect(await sentTo(person)).toEqual([]);
      expect(await sentTo(other)).toEqual([others]);
      const again = await completed((await request(person)).json.id);
      expect(again.report).toMatchObject({ messages_erased: 0, messages_erased_before: 0 });
      expect(report.not_reached.map(({ what }: { what: string }) => what)).toContain("hashes");
      expect((await tenant.send(key, waiting)).status).toBe(202);
      expectProblem(await tenant.send(key, { ...waiting, text: "other" }), 409, "IDEMPOTENCY_CONFLICT");

      const uploaded = async (id: string) => (await tenant.call("GET", `${UPLOADS}/${id}`)).json;
      expect(await uploaded(personsUpload)).toMatchObject({
        status: "expired",
        filename: null,
        sha256: null,
        size_bytes: expect.any(Number),
      });
      expect(await uploaded(shared)).toMatchObject({ status: "ready", filename: "for-both.pdf" });
      const listed = (await tenant.call("GET", `${UPLOADS}?limit=100`)).json.data;
      expect(listed.find(({ id }: { id: string }) => id === personsUpload)).toMatchObject({ filename: null });
      expectProblem(
        await tenant.send(newKey(), message({ attachments: [personsUpload] })),
        410,
        "ATTACHMENT_EXPIRED",
      );

      // Whoever was suppressed stays so.
      const suppression = (await tenant.call("GET", `${SUPPRESSIONS}/${person}`)).json;
      expect(suppression).toMatchObject({ address: null, note: null, reason: "manual" });
      const suppressions = (await tenant.call("GET", `${SUPPRESSIONS}?limit=100`)).json.data;
      expect(suppressions).toContainEqual(suppression);
      expect(suppressions).toContainEqual(expect.objectContaining({ address: other, note: "kept" }));
      expect((await tenant.send(newKey(), message({ to: person }))).json.status).toBe("suppressed");
      // What was cut off has left its leaves behind.
      const after = await service.log.store.read(before[0]?.stream ?? "", 0, 100);
      expect(after.map(({ type }) => type)).toEqual(["RecipientSuppressed", "SuppressionAddressErased"]);
      const truncated = before.filter(({ revision }) => revision < (after[0]?.revision ?? 0));
      const eventHashes = truncated.map((event) => ({ revision: event.revision, leaf: eventHash(event) }));
      expect(after.at(-1)?.data).toMatchObject({ cutsHistory: true, erased: eventHashes });
      // And nothing of the request tells whom it is about.
      const eventsJson = JSON.stringify(await service.log.store.read(erasureStream(answer.json.id), 0, 10));
      expect(eventsJson).not.toContain(person);
    });

    test("waits for a delivery under way, and covers what was accepted before the request alone", async () => {
      const person = newPerson();
      const claimed = await accept({ to: person });
      await service.addEmailEvents(claimed, started);
      const { json } = await request(person);
      await until(
        async () => timelineOf(await get(claimed)).includes("content_erasure_requested"),
        "the request to reach the message",
        SETTLED_MS_MAX,
      );
      const later = await accept({ to: person, subject: "After it" });
      expect((await tenant.call("GET", `${ERASURES}/${json.id}`)).json).toMatchObject({
        status: "requested",
        completed_at: null,
        report: null,
      });
      await endClaim(claimed);
      const { report } = await completed(json.id);
      expect(report).toMatchObject({ messages_erased: 1, messages_canceled: 0, messages_erased_before: 0 });
      expect(await get(claimed)).toMatchObject({ status: "sent", content_erased: true });
      expect(await sentTo(person)).toEqual([later]);
      expect(await get(later)).toMatchObject({
        status: "queued",
        content_erased: false,
        subject: "After it",
      });
    });

    test("is no difference to a concurrent verification of the read models", async () => {
      const person = newPerson();
      await upload("verified.pdf");
      for (let count = 0; count < 5; count += 1) await accept({ to: person });
      for (const note of ["first", "second"]) {
        await tenant.call("POST", SUPPRESSIONS, { body: { address: person, note } });
        if (note === "first") await tenant.call("DELETE", `${SUPPRESSIONS}/${person}`);
      }
      const [instance] = await service.log.store.read(INSTANCE_STREAM, 0, 1);
      const { logId } = (instance?.data ?? {}) as { readonly logId: string };
      const directory = join(service.app.dataDir, "projections");
      const verify = () =>
        verifyReadModels({
          logId,
          databases: sqliteReadDatabases,
          directory,
          projections: projections.filter(({ name }) =>
            ["attachments", "emails", "suppressions", "webhook-deliveries", "attachment-use"].includes(name),
          ),
          store: service.log.store,
          signal: AbortSignal.timeout(SETTLED_MS_MAX),
        });
      const [{ json }, ...results] = await Promise.all([request(person), verify(), verify()]);
      await completed(json.id);
      for (const found of [...results, await verify()]) {
        expect(found.map(({ name, differences, failure }) => ({ name, differences, failure }))).toEqual(
          found.map(({ name }) => ({ name, differences: 0, failure: null })),
        );
      }
    });

    test("of whom nothing is known finds nothing, and reaches into no other workspace", async () => {
      const person = newPerson();
      const other = await service.tenant();
      const id = await accept({ to: person }, other);
      const { json } = await request(person);
      expect((await completed(json.id)).report).toMatchObject({ messages_erased: 0, suppressions_erased: 0 });
      expect((await other.call("GET", `${EMAILS}/${id}`)).json.content_erased).toBe(false);
      expectProblem(await other.call("GET", `${ERASURES}/${json.id}`), 404, "NOT_FOUND");
    });

    test("is refused for what is no address", async () => {
      for (const body of [
        {},
        { address: "nobody" },
        { address: "a@example.com", more: 1 },
        { address: null },
        { address: "a@example.com", reference: "" },
        { address: "a@example.com", reference: " " },
        { address: "a@example.com", reference: "SUP\n4711" },
        { address: "a@example.com", reference: "mail from a@example.com" },
        { address: "a@example.com", reference: "x".repeat(101) },
        { address: "a@example.com", reference: 4711 },
      ]) {
        expectProblem(await tenant.call("POST", ERASURES, { body }), 400, "INVALID_REQUEST");
      }
      expectProblem(await tenant.call("GET", `${ERASURES}/${UNKNOWN}`), 404, "NOT_FOUND");
    });

    test("carries the reference that it is filed under, in its report, in lists and on the command line", async () => {
      const reference = "x".repeat(100);
      const body = { address: newPerson(), reference };
      const { status, json } = await tenant.call("POST", ERASURES, { body });
      expect([status, json.reference]).toEqual([202, reference]);
      expect(await completed(json.id)).toMatchObject({ reference, status: "completed" });
      await until(async () => {
        const { data } = (await tenant.call("GET", ERASURES)).json;
        return data.some((one: typeof json) => one.id === json.id && one.reference === reference);
      }, "the request in the list");
      const command = (...words: string[]) =>
        runCommand(["erasure", ...words], service.app.dataDir, store.env);
      const workspace = ["--workspace", tenant.workspaceId];
      const asked = await command("request", newPerson(), ...workspace, "--reference", "SUP-4711", "--json");
      const [{ id }] = asked.json;
      expect((await command("show", id)).out).toContain("\nreference  SUP-4711\n");
      expect((await command("list")).out).toMatch(
        new RegExp(`^${id}  \\w+  \\S+Z  workspace ${tenant.workspaceId}  SUP-4711$`, "m"),
      );
      const refused = await command("request", newPerson(), ...workspace, "--reference", "a@example.com");
      expect([refused.exitCode, refused.err]).toEqual([2, expect.stringContaining("--reference must not")]);
    });

    test("is listed newest first, page after page", async () => {
      const own = await service.tenant();
      const ids: string[] = [];
      for (let count = 0; count < 3; count += 1) {
        ids.unshift((await own.call("POST", ERASURES, { body: { address: newPerson() } })).json.id);
      }
      const page = async (query: string) => (await own.call("GET", `${ERASURES}?${query}`)).json;
      const first = await page("limit=2");
      const second = await page(`limit=2&cursor=${first.next_cursor}`);
      expect([...first.data, ...second.data].map(({ id }: { id: string }) => id)).toEqual(ids);
      expect(second.next_cursor).toBeNull();
      for (const query of ["limit=0", "cursor=nonsense", "status=done"]) {
        expectProblem(await own.call("GET", `${ERASURES}?${query}`), 400, "INVALID_REQUEST");
      }
    });
  });

  describe("by retention", () => {
    /** Accepts a message as it was so many days ago. */
    const acceptedDaysAgo = async (days: number, workspaceId: string): Promise<string> => {
      const from = { sent: SENDER, canonical: SENDER };
      const to = { sent: newPerson(), canonical: newPerson() };
      const outcome = await sendEmail(service.log, {
        workspaceId,
        idempotencyKey: newKey(),
        comparable: {},
        from,
        to,
        content: { from: SENDER, to: to.sent, subject: "Old", text: "Old" },
        template: null,
        attachments: [],
        context: { at: Date.now() - days * DAY_MS, correlationId: "test", actor: "test", workspaceId },
      });
      if (outcome.kind !== "accepted") throw new Error(JSON.stringify(outcome));
      return outcome.receipt.id;
    };

    test("takes the content of what has ended and is older than the workspace's days", async () => {
      const { workspaceId } = tenant;
      const strict = await service.tenant();
      await setLimits(service.log, strict.workspaceId, { contentRetentionDays: 2 });
      const [old, young, waiting] = [
        await acceptedDaysAgo(31, workspaceId),
        await acceptedDaysAgo(29, workspaceId),
        await acceptedDaysAgo(31, workspaceId),
      ];
      const strictOld = await acceptedDaysAgo(3, strict.workspaceId);
      for (const id of [old, young, strictOld]) await service.addEmailEvents(id, started, sent);
      expect((await strict.call("GET", "/api/v1/workspace")).json.limits.content_retention_days).toBe(2);
      // A service looks when it starts, and every minute then.
      await service.restart();
      for (const id of [old, strictOld]) await untilCleared(id);
      expect(await get(old)).toMatchObject({ status: "sent", content_erased: true, subject: null });
      expect((await get(old)).timeline.at(-1)).toMatchObject({ type: "content_erased", reason: "retention" });
      for (const id of [young, waiting])
        expect(await get(id)).toMatchObject({ content_erased: false, subject: "Old" });
    });
  });

  // The log of all suites holds what others have planted in it.
  test.skipIf(store.isShared)("leaves a log in which a verification finds nothing", async () => {
    expect((await verifyWholeLog(service.log.store)).shown).toEqual([]);
  });
});
