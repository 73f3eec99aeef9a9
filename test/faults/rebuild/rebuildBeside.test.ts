import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projections } from "../../../projections/index.ts";
import { type Sink, startSmtpSink } from "../../support/mail/smtpSink.ts";
import { runCommand } from "../../support/process/runCommand.ts";
import type { NameServer } from "../../support/servers/nameServer.ts";
import { startTestApp } from "../../support/service.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, startService, type Tenant, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";
import { startWebhookReceiver, type WebhookReceiver } from "../../support/webhook/webhookReceiver.ts";
import { hostOf, loopbackNames, webhookSettings } from "../../support/webhook/webhookWorld.ts";

const MESSAGES = 25;
const REBUILDS = 2;
const TEST_MS_MAX = 240_000;
const ARRIVAL_MS_MAX = 90_000;
/** Without a rest the service, in the same process, would get no time. */
const READ_EVERY_MS = 15;
/** What is sent in this time has to be delivered in the end. */
const SEND_EVERY_MS = 100;

describe.each(await testStores())("rebuilds, on $name", (store) => {
  const directory = mkdtempSync(join(tmpdir(), "postledger-rebuild-"));
  /** Of a second instance's own: nobody serves from it until the end. */
  const offline = join(directory, "offline");
  mkdirSync(offline);
  let sink: Sink;
  let receiver: WebhookReceiver;
  let dns: NameServer;
  let service: TestService;
  let tenant: Tenant;
  let env: Readonly<Record<string, string>>;
  const ids: string[] = [];

  const send = async () => {
    const { status, json } = await tenant.send(
      newKey(),
      message({ to: `${tenant.workspaceId}@example.com` }),
    );
    expect(status).toBe(202);
    ids.push(json.id);
  };

  beforeAll(async () => {
    sink = await startSmtpSink({});
    receiver = await startWebhookReceiver();
    dns = await loopbackNames();
    const webhooks = await webhookSettings(receiver, dns, ["hook"], directory);
    const withRelay = { ...webhooks, SMTP_URL: `smtp://127.0.0.1:${sink.port}` };
    service = await startService(store, { ...withRelay, DELIVERY: "off" });
    const { dataDir } = service.app;
    // Where a command on another directory finds the same log; it may send, if only it could.
    const log = { STORE_URL: `file:${dataDir}`, CONTENT_URL: `file:${dataDir}/content`, ...store.env };
    const key = store.isShared ? {} : { MASTER_KEY_FILE: join(dataDir, "master.key") };
    env = { ...log, ...key, ...withRelay, DELIVERY: "on", BOOTSTRAP: "off" };
    tenant = await service.tenant();
    const url = `https://${hostOf("hook")}:${receiver.port}/hook`;
    expect((await tenant.call("POST", "/webhooks", { body: { url } })).status).toBe(201);
    for (let count = 0; count < MESSAGES; count += 1) await send();
  }, TEST_MS_MAX);
  afterAll(async () => {
    await service.remove();
    receiver.stop();
    dns.stop();
    await sink.close();
    rmSync(directory, { recursive: true, force: true });
  });

  /** Runs a command next to the service, or on a directory without a service. */
  const run = (dataDir: string, ...words: string[]) => runCommand([...words, "--json"], dataDir, env);

  test(
    "beside a service, no read fails or goes back while they switch, under load",
    async () => {
      let isDone = false;
      const failures: unknown[] = [];
      let reads = 0;
      const reading = async (readCount: () => Promise<number>) => {
        let last = 0;
        while (!isDone) {
          const seen = await readCount();
          if (seen < last) failures.push({ went: "back", seen, last });
          last = seen;
          reads += 1;
          await Bun.sleep(READ_EVERY_MS);
        }
      };
      const ask = async (path: string) => {
        const { status, json } = await tenant.call("GET", path);
        if (status !== 200) failures.push({ path, status });
        return json;
      };
      await until(async () => (await ask("/api/v1/emails?limit=1")).data?.length === 1, "the list");
      const newest = async () =>
        Date.parse((await ask("/api/v1/emails?limit=1")).data?.[0]?.created_at ?? "");
      const accepted = async () => (await ask("/api/v1/workspace")).usage.content_bytes;
      const endpoints = async () => (await ask("/webhooks")).data.length;
      const one = async () => (await ask(`/api/v1/emails/${ids[0]}`)).timeline.length;
      const sending = async () => {
        while (!isDone) {
          await send();
          await Bun.sleep(SEND_EVERY_MS);
        }
      };
      const busy = [newest, accepted, endpoints, one].map(reading);
      const writing = sending();
      try {
        for (let count = 0; count < REBUILDS; count += 1) {
          const { exitCode, err, json } = await run(service.app.dataDir, "projection", "rebuild");
          const failed = json.filter(({ outcome }: { outcome: string }) => outcome === "failed");
          expect({ exitCode, err, failed }).toEqual({ exitCode: 0, err: "", failed: [] });
          expect(json.map(({ outcome }: { outcome: string }) => outcome)).toEqual(
            projections.map(() => "current"),
          );
        }
      } finally {
        isDone = true;
        await Promise.all([...busy, writing]);
      }
      expect(failures).toEqual([]);
      expect(reads).toBeGreaterThan(20);
      const list = await tenant.call("GET", "/api/v1/emails?limit=100");
      expect(list.json.data.length).toBe(Math.min(100, ids.length));
    },
    TEST_MS_MAX,
  );

  test(
    "cannot send: no mail of a log of queued mail arrives until a service delivers it",
    async () => {
      for (const dataDir of [service.app.dataDir, offline]) {
        expect((await run(dataDir, "projection", "rebuild")).exitCode).toBe(0);
        expect((await run(dataDir, "projection", "verify")).exitCode).toBe(0);
      }
      const asOf = await runCommand(
        ["projection", "as-of", "0s", "emails", "--table", "emails"],
        offline,
        env,
      );
      expect(asOf.out.split(tenant.workspaceId).length - 1).toBe(ids.length);
      expect({ connections: sink.record.connections, calls: receiver.calls.length }).toEqual({
        connections: 0,
        calls: 0,
      });
      // Any mail that could be sent would have arrived, as it does now.
      const delivering = await startTestApp({ dataDir: offline, env });
      const ownWebhooks = () =>
        sink.record.messages.filter(({ to }) => to[0]?.startsWith(tenant.workspaceId)).length;
      try {
        await until(() => ownWebhooks() === ids.length, "all mail", ARRIVAL_MS_MAX);
        await until(() => receiver.calls.length >= ids.length, "the webhooks", ARRIVAL_MS_MAX);
      } finally {
        await delivering.app.stop();
      }
    },
    TEST_MS_MAX,
  );
});
