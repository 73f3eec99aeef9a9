import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { askRunningService } from "../../../src/cli/service/askRunningService.ts";
import { markVerified, newSender } from "../../../src/commands/sender/manageSender.ts";
import type { Check } from "../../../src/service/status/checks/check.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { type Sink, startSmtpSink } from "../../support/mail/smtpSink.ts";
import { startTestProcess, type TestApp, type TestProcess } from "../../support/service.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { message, newKey, startService, type Tenant, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const SHUTTING_DOWN = { code: 421, text: "4.3.2 shutting down" };
/** More than a group has workers. */
const MANY = 40;

/** The senders whose mail a relay has got, each once, in order. */
function sendersAt({ record }: Sink): readonly string[] {
  return [...new Set(record.messages.map(({ from }) => from))].sort();
}

async function doctorCheck({ dataDir }: Pick<TestApp, "dataDir">, name: string) {
  const asked = await askRunningService(dataDir, "/status", 20_000);
  if (asked.kind !== "answered") throw new Error(asked.kind);
  return (asked.body as readonly Check[]).find((check) => check.name === name);
}

describe("relays by sender", () => {
  let news: Sink;
  let newsBackup: Sink;
  let billing: Sink;
  let customer: Sink;
  let rest: Sink;
  let service: TestService;
  let tenant: Tenant;
  let other: Tenant;
  let isNewsDown = false;
  let isBackupDown = false;

  beforeAll(async () => {
    news = await startSmtpSink({ mail: () => (isNewsDown ? SHUTTING_DOWN : undefined) });
    newsBackup = await startSmtpSink({ mail: () => (isBackupDown ? SHUTTING_DOWN : undefined) });
    [billing, customer, rest] = [await startSmtpSink(), await startSmtpSink(), await startSmtpSink()];
    const VERIFICATION_FROM = "postmaster@news.shop.example";
    const env = { DELIVERY: "on", METRICS_PORT: "0", DELIVERY_RELAY_RETRY_MS: "100", VERIFICATION_FROM };
    // The id of the other workspace is not known before there is a log.
    service = await startService(sqliteStore);
    tenant = await service.tenant({ sender: "billing@shop.example" });
    await addDomain(tenant, "shop.example");
    await addDomain(tenant, "news.shop.example");
    other = await service.tenant({ sender: "hello@customer.example" });
    const url = (sink: Sink, query: string) => `smtp://127.0.0.1:${sink.port}${query}`;
    const SMTP_URL = [
      url(news, "?senders=News.Shop.example"),
      url(newsBackup, "?senders=news.shop.example&order=2"),
      url(billing, "?senders=billing@shop.example,nobody@shop.example"),
      url(customer, `?workspaces=${other.workspaceId}`),
      url(rest, ""),
    ].join(" ");
    await service.restart({ ...env, SMTP_URL });
  });
  afterAll(async () => {
    await service.remove();
    for (const sink of [news, newsBackup, billing, customer, rest]) await sink.close();
  });

  async function addDomain({ workspaceId }: Tenant, domain: string): Promise<void> {
    const context = { ...systemCommandContext("test"), workspaceId };
    const added = await newSender(service.log, { workspaceId, name: { kind: "domain", domain } }, context);
    if (added) await markVerified(service.log, added.id, "operator", context);
  }

  async function send(from: string, by = tenant): Promise<string> {
    const sent = await by.send(newKey(), message({ from, to: `${newKey()}@example.com` }));
    expect(sent.status).toBe(202);
    return sent.json.id;
  }

  const read = async (id: string, by = tenant) => (await by.call("GET", `/api/v1/emails/${id}`)).json;

  async function sent(id: string, by = tenant) {
    await until(async () => (await read(id, by)).status === "sent", "the message to be sent");
    return (await read(id, by)).timeline.at(-1);
  }

  test("mail goes over those that name its address, its domain or its workspace, and all other mail over the rest", async () => {
    const names = (sink: Sink) => ({ relay: `127.0.0.1:${sink.port}` });
    expect(await sent(await send("ana@news.shop.example"))).toMatchObject(names(news));
    expect(await sent(await send("Billing@shop.example"))).toMatchObject(names(billing));
    expect(await sent(await send("ana@shop.example"))).toMatchObject(names(rest));
    expect(await sent(await send("hello@customer.example", other), other)).toMatchObject(names(customer));
    expect(sendersAt(news)).toEqual(["ana@news.shop.example"]);
    expect(sendersAt(billing)).toEqual(["Billing@shop.example"]);
    expect(sendersAt(customer)).toEqual(["hello@customer.example"]);
    expect(sendersAt(rest)).toEqual(["ana@shop.example"]);
    expect(sendersAt(newsBackup)).toEqual([]);
  });

  test("a verification link goes over the relay for the service's own address, whoever asks for it", async () => {
    const { id } = (
      await other.call("POST", "/api/v1/senders", { body: { address: "new@customer.example" } })
    ).json;
    await other.call("POST", `/api/v1/senders/${id}/verification`, { body: { method: "email" } });
    const isLink = ({ from, to }: Sink["record"]["messages"][number]) =>
      from === "postmaster@news.shop.example" && to.includes("new@customer.example");
    await news.until(({ messages }) => messages.some(isLink));
    expect(sendersAt(customer)).toEqual(["hello@customer.example"]);
  });

  test("a relay that is down hands over to the next of its group, and to no other", async () => {
    isNewsDown = true;
    const end = await sent(await send("bo@news.shop.example"));
    expect(end).toMatchObject({ attempt: 1, relay: `127.0.0.1:${newsBackup.port}` });
  });

  test("while all of a group are down its mail waits, and mail over the others goes on", async () => {
    isBackupDown = true;
    const before = rest.record.messages.length;
    const waiting = await Promise.all(Array.from({ length: MANY }, () => send("cy@news.shop.example")));
    const isWaiting = async (id: string) => (await read(id)).waiting?.reason === "relay_unavailable";
    await until(async () => isWaiting(waiting.at(-1) ?? ""), "the group's breaker to open");
    await Promise.all(Array.from({ length: MANY }, () => send("cy@shop.example")));
    await rest.until(({ messages }) => messages.length === before + MANY);

    const ready = (await (await fetch(`${service.url}/health/ready`)).json()) as {
      status: string;
      checks: { relay: object };
    };
    expect(ready).toMatchObject({
      status: "degraded",
      checks: { relay: { ok: false, detail: expect.stringMatching(/ Mail over other relays goes on\.$/) } },
    });
    const check = await doctorCheck(service.app, "delivery workers");
    expect(check).toMatchObject({
      status: "warning",
      detail: expect.stringContaining(`; 127.0.0.1:${news.port}, 127.0.0.1:${newsBackup.port}: the relay `),
    });
    const metrics = await (await fetch(new URL("/metrics", service.app.app.metrics ?? ""))).text();
    expect(metrics).toContain(`postledger_relay_ok{relay="127.0.0.1:${news.port}"} 0\n`);
    expect(metrics).toContain(`postledger_relay_ok{relay="127.0.0.1:${rest.port}"} 1\n`);

    isBackupDown = false;
    await newsBackup.until(({ messages }) => messages.length >= waiting.length);
    expect(sendersAt(rest)).not.toContain("cy@news.shop.example");
    expect(sendersAt(billing)).toEqual(["Billing@shop.example"]);
  });
});

describe("mail after a start with other settings", () => {
  let first: Sink;
  let second: Sink;
  let dataDir: string;
  let running: TestProcess | undefined;
  const hanging = Promise.withResolvers<undefined>();

  beforeAll(async () => {
    // It takes the message and does not answer.
    [first, second] = [await startSmtpSink({ final: () => hanging.promise }), await startSmtpSink()];
    dataDir = await mkdtemp(join(tmpdir(), "postledger-relays-"));
  });
  afterAll(async () => {
    await running?.kill("SIGKILL");
    hanging.resolve(undefined);
    for (const sink of [first, second]) await sink.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  const SENDER = "hello@example.com";
  const start = async (SMTP_URL: string): Promise<TestProcess> => {
    await running?.kill("SIGKILL");
    running = await startTestProcess({ dataDir, env: { SMTP_URL, DELIVERY_RETRY_BASE_MS: "100" } });
    return running;
  };

  test("goes where the new ones say, waits while they name no relay, and the operator is told", async () => {
    const url = (sink: Sink, query = "") => `smtp://127.0.0.1:${sink.port}${query}`;
    let service = await start(`${url(first, `?senders=${SENDER}`)} ${url(second)}`);
    const mail = { from: SENDER, to: "ana@example.net", subject: "Moved", text: "Hello." };
    const { id } = (await service.send(newKey(), mail)).json;
    await first.until(({ messages }) => messages.length === 1);
    const read = async () => (await service.call("GET", `/api/v1/emails/${id}`)).json;

    service = await start(url(second, "?senders=other.example"));
    await until(async () => (await read()).waiting?.reason === "no_relay", "the message to wait");
    await until(() => service.log().includes("verified senders have no relay"), "the log line");
    expect(service.log()).not.toContain(SENDER);
    expect(await doctorCheck(service, "relays of senders")).toMatchObject({
      status: "failed",
      detail: expect.stringMatching(/^1 verified sender without one: hello@example\.com \(workspace /),
    });
    expect(second.record.connections).toBeLessThan(2);

    service = await start(`${url(first)} ${url(second, `?senders=${SENDER}`)}`);
    await until(async () => (await read()).status === "sent", "the message to be sent");
    expect((await read()).timeline.at(-1)).toMatchObject({ relay: `127.0.0.1:${second.port}` });
    expect(first.record.messages).toHaveLength(1);
    expect(second.record.messages).toHaveLength(1);
  }, 120_000);
});
