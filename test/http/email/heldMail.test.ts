import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { askRunningService } from "../../../src/cli/service/askRunningService.ts";
import { instanceAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import { freezeLog, unfreezeLog } from "../../../src/commands/instance/freezeLog.ts";
import { resumeDelivery } from "../../../src/commands/instance/resumeDelivery.ts";
import { transact } from "../../../src/commands/transact.ts";
import { emailStream } from "../../../src/domain/email/events.ts";
import { restoreInstance } from "../../../src/domain/instance/decisions.ts";
import { quotaDay, quotaStream } from "../../../src/domain/quota/events.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { DAY_MS, HOUR_MS, rfc3339 } from "../../../src/kernel/time.ts";
import type { Check } from "../../../src/service/status/checks/check.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";
import { message, newKey, startService, type Tenant, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

/** Not the shared log: what is held or frozen is the whole of it. */
const SQLITE = { name: "SQLite", env: {}, isShared: false } as const;

const STATUS_MS_MAX = 10_000;

let service: TestService;
let tenant: Tenant;
const outbox = temporaryFolder();

beforeAll(async () => {
  service = await startService(SQLITE, { DELIVERY: "on", SMTP_URL: `outbox:${outbox}` });
  tenant = await service.tenant();
});
afterAll(async () => {
  await service.remove();
});

async function restore(backupAt: number): Promise<void> {
  const context = systemCommandContext("test");
  const restoration = {
    copyId: newId(),
    from: "backup",
    takenAt: backupAt,
    sealed: false,
    at: context.at,
  } as const;
  const aggregate = instanceAggregate;
  await transact(service.log.store, aggregate, (state) => restoreInstance(state, restoration), context);
}

/** A message like that of `model`, as if it had been accepted at another time. */
async function acceptedAt(at: number, model: string, more: object = {}): Promise<string> {
  const [content, queued] = await service.log.store.read(emailStream(model), 0, 2);
  if (!content || !queued) throw new Error("the message has no events");
  const id = newId();
  const accepted = { ...queued, data: { ...(queued.data as object), acceptedAt: rfc3339(at), ...more } };
  await service.log.store.append(emailStream(id), [content, accepted], "noStream");
  return id;
}

const statusOf = async (id: string) => (await tenant.call("GET", `/api/v1/emails/${id}`)).json.status;

/** What `doctor` is told of held mail; undefined where there is none. */
async function heldCheck(): Promise<Check | undefined> {
  const asked = await askRunningService(service.app.dataDir, "/status", STATUS_MS_MAX);
  if (asked.kind !== "answered") throw new Error(`the service is ${asked.kind}`);
  return (asked.body as readonly Check[]).find(({ name }) => name === "delivery");
}

describe("mail that is held since its log was restored", () => {
  test("has as much time left when it goes on as it had when the copy was taken", async () => {
    const { json: model } = await tenant.send(newKey(), message());
    await until(async () => (await statusOf(model.id)) === "sent", "a first message to be sent");
    await service.pause(tenant.workspaceId);
    const now = Date.now();
    const backupAt = now - 10 * DAY_MS;
    const recent = await acceptedAt(backupAt - HOUR_MS, model.id);
    const old = await acceptedAt(backupAt - 4 * DAY_MS, model.id);
    const code = await acceptedAt(backupAt - HOUR_MS, model.id, { deliverBefore: rfc3339(backupAt) });
    await restore(backupAt);
    await service.restart();
    await service.resume(tenant.workspaceId);
    const fresh = await tenant.send(newKey(), message());
    await until(async () => (await statusOf(fresh.json.id)) === "sent", "new mail to be sent");
    expect(await Promise.all([recent, old, code].map(statusOf))).toEqual(["queued", "queued", "queued"]);
    const sent = await readdir(outbox);
    expect(sent.sort()).toEqual([`${model.id}.eml`, `${fresh.json.id}.eml`].sort());
    expect(await heldCheck()).toMatchObject({ status: "failed" });
    await resumeDelivery(service.log.store, systemCommandContext("test"));
    expect(await heldCheck()).toBeUndefined();
    await until(async () => (await statusOf(recent)) === "sent", "the held mail to be sent");
    await until(async () => (await statusOf(old)) === "failed", "the mail that was too old to end");
    await until(async () => (await statusOf(code)) === "failed", "the mail past its deadline to end");
    const { reason, attempts } = (await tenant.call("GET", `/api/v1/emails/${code}`)).json;
    expect({ reason, attempts }).toEqual({ reason: "expired", attempts: 0 });
  }, 60_000);

  test("a log that is sealed answers nobody, but for how it is; nothing leaves", async () => {
    await freezeLog(service.log.store, systemCommandContext("test"));
    await until(
      async () => (await tenant.send(newKey(), message())).status === 503,
      "the resume command to be refused",
    );
    const lost = await tenant.send(newKey(), message());
    expect(lost).toMatchObject({ status: 503, json: { code: "INTERNAL_ERROR", retryable: true } });
    expect(lost.headers.get("retry-after")).toBe("2");
    for (const path of ["/api/v1/emails", "/api/v1/workspace", "/webhooks"]) {
      expect((await tenant.call("GET", path)).status).toBe(503);
    }
    expect((await tenant.call("GET", "/nowhere")).status).toBe(404);
    expect((await tenant.call("PATCH", "/api/v1/emails")).status).toBe(405);
    for (const path of ["/health/live", "/docs", "/openapi.json"]) {
      expect((await tenant.call("GET", path)).status).toBe(200);
    }
    expect(await tenant.call("GET", "/health/ready")).toMatchObject({
      status: 503,
      json: { checks: { seal: { ok: false, required: true } } },
    });
  });

  test("a log that is sealed has everything in it once its service says that it is done", async () => {
    const isSettled = async () => {
      const asked = await askRunningService(service.app.dataDir, "/settled", STATUS_MS_MAX);
      return asked.kind === "answered" && asked.body === true;
    };
    await until(isSettled, "the service to finish what it had begun");
    const { store } = service.log;
    const quota = quotaStream(tenant.workspaceId, quotaDay(Date.now()));
    const events = await store.read(quota, 0, 100);
    // The service held some of the daily limit in reserve.
    expect(events.at(-1)?.type).toBe("QuotaReturned");
    await unfreezeLog(store, systemCommandContext("test"));
    await service.restart();
    expect(await store.read(quota, 0, 100)).toEqual(events);
  });
});
