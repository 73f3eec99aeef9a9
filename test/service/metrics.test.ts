import { afterAll, beforeAll, expect, test } from "bun:test";
import { createServer } from "node:net";
import { join } from "node:path";
import { openSqliteEventStore } from "../../src/adapters/sqlite/sqliteEventStore.ts";
import { askRunningService } from "../../src/cli/service/askRunningService.ts";
import { counted } from "../../src/kernel/text/readableNumbers.ts";
import { SECOND_MS } from "../../src/kernel/time.ts";
import { readConfig } from "../../src/service/config/config.ts";
import { eventAndRequestCounts } from "../../src/service/metrics/eventAndRequestCounts.ts";
import { createHistogram } from "../../src/service/metrics/histogram.ts";
import { openMetricsListener } from "../../src/service/metrics/metricsListener.ts";
import { histogram, prometheusText } from "../../src/service/metrics/prometheusText.ts";
import type { Check } from "../../src/service/status/checks/check.ts";
import { newEvent } from "../contract/eventStore.ts";
import { acceptedId } from "../support/mail/sentEmail.ts";
import { parseAnswer, rawRequest } from "../support/servers/rawRequest.ts";
import { startTestApp, type TestApp } from "../support/service.ts";
import { freePort } from "../support/stores/eventstoredb.ts";
import { memoryEventStore } from "../support/stores/memoryEventStore.ts";
import { type TestStore, testStores } from "../support/stores/stores.ts";
import { message, newKey, SENDER, startService } from "../support/tenants.ts";
import { until } from "../support/until.ts";

const DOCTOR_MS_MAX = 20_000;

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ env: { METRICS_PORT: "0", DELIVERY: "on" } });
});
afterAll(() => app.remove());

async function fetchMetrics(path = "/metrics", options: RequestInit = {}, of: Pick<TestApp, "app"> = app) {
  const answer = await fetch(new URL(path, of.app.metrics ?? "none:"), options);
  return { answer, text: await answer.text() };
}

/** The value of a metric; null where it is not there. */
async function metricValue(metric: string, of: Pick<TestApp, "app"> = app): Promise<number | null> {
  const { text } = await fetchMetrics("/metrics", {}, of);
  const line = text.split("\n").find((one) => one.startsWith(`${metric} `));
  return line === undefined ? null : Number(line.slice(metric.length));
}

const BOOTSTRAP_SENDER = "hello@example.com";

test("metrics count what was accepted, what became of it, and what was answered", async () => {
  // An alert sees no increase of a counter that was not there before.
  for (const type of ["EmailSent", "EmailDeferred", "EmailFailed", "WebhookAttemptFailed"])
    expect(await metricValue(`postledger_events_appended_total{type="${type}"}`)).toBe(0);
  const body = message({ from: BOOTSTRAP_SENDER });
  for (const status of [202, 202, 400]) {
    const sent = status === 202 ? body : {};
    expect((await app.send(newKey(), sent)).status).toBe(status);
  }
  const counted = async () => (await metricValue('postledger_events_appended_total{type="EmailSent"}')) === 2;
  await until(counted, "both to be sent");
  expect(await metricValue('postledger_events_appended_total{type="EmailQueued"}')).toBe(2);
  expect(await metricValue('postledger_http_responses_total{status="202"}')).toBe(2);
  expect(await metricValue('postledger_http_responses_total{status="400"}')).toBe(1);
  // The read models follow.
  await until(async () => (await metricValue("postledger_messages_due")) === 0, "no message to be due");
});

test("metrics count the reports of a provider that match no message", async () => {
  const value = () => metricValue('postledger_feedback_unmatched_total{source="postmark"}');
  expect(await value()).toBeNull();
  for (const RecordType of ["Delivery", "SpamComplaint", "Open"])
    expect((await app.call("POST", "/api/v1/feedback/postmark", { body: { RecordType } })).status).toBe(204);
  expect(await value()).toBe(2);
});

test("metrics are answered whatever the Host header says, and without one", async () => {
  const metrics = app.app.metrics?.href ?? "none:";
  for (const lines of [
    ["GET /metrics HTTP/1.1", "Host: [", "Connection: close"],
    ["GET /metrics HTTP/1.0"],
  ]) {
    const answer = parseAnswer(await rawRequest(metrics, [...lines, "", ""]));
    expect({ lines, status: answer.status }).toEqual({ lines, status: 200 });
  }
});

test("metrics count how long mail took from when it was due until the relay had accepted it", async () => {
  const counted = await startTestApp({ env: { METRICS_PORT: "0", DELIVERY: "on" } });
  const value = (sample: string) => metricValue(`postledger_delivery_seconds_${sample}`, counted);
  const bucket = (le: string) => value(`bucket{le="${le}"}`);
  try {
    expect(await Promise.all([bucket("0.1"), bucket("+Inf"), value("sum"), value("count")])).toEqual([
      0, 0, 0, 0,
    ]);
    const send = async (to: string) =>
      (await counted.send(newKey(), message({ from: BOOTSTRAP_SENDER, to }))).json.id;
    const ended = async (id: string, status: string) => {
      const read = async () => (await counted.call("GET", `/api/v1/emails/${id}`)).json;
      await until(async () => (await read()).status === status, `the message to be ${status}`);
    };
    // Does not go to the relay.
    await ended(await send("delivered@simulator.test"), "delivered");
    for (const to of ["ana@example.net", "bo@example.net"]) await ended(await send(to), "sent");
    await until(async () => (await value("count")) === 2, "both to be observed");
    expect(await bucket("+Inf")).toBe(2);
    expect(await value("sum")).toBeGreaterThan(0);
    const { text } = await fetchMetrics("/metrics", {}, counted);
    expect(text).toContain("# TYPE postledger_delivery_seconds histogram\n");
    const inOrder = [...text.matchAll(/^postledger_delivery_seconds_bucket\{le="(.+)"\} (\d+)$/gm)];
    expect(inOrder.map(([, le]) => le).join()).toBe(
      "0.1,0.25,0.5,1,2.5,5,10,30,60,120,300,600,1800,3600,+Inf",
    );
    const counts = inOrder.map(([, , count]) => Number(count));
    expect(counts).toEqual(counts.toSorted((one, other) => one - other));
  } finally {
    await counted.remove();
  }
});

test("a histogram counts a value in each bucket whose bound it does not exceed", () => {
  const seconds = createHistogram([1, 60]);
  for (const value of [0.5, 1, 1.5, 61]) seconds.observe(value);
  expect(prometheusText([histogram("x", "y", seconds)])).toBe(
    `# HELP x y
# TYPE x histogram
x_bucket{le="1"} 2
x_bucket{le="60"} 3
x_bucket{le="+Inf"} 4
x_sum 64
x_count 4
`,
  );
});

test("metrics count the webhook deliveries that are due and in flight", async () => {
  const waiting = await startTestApp({ env: { METRICS_PORT: "0", DELIVERY: "off" } });
  try {
    const value = (metric: string) => metricValue(metric, waiting);
    expect(await value("postledger_webhook_deliveries_due")).toBe(0);
    for (const host of ["a.example.com", "b.example.com"])
      await waiting.call("POST", "/webhooks", { body: { url: `https://${host}/hook` } });
    await waiting.call("POST", "/api/v1/suppressions", { body: { address: "ana@example.com" } });
    const isDue = async () => (await value("postledger_webhook_deliveries_due")) === 2;
    await until(isDue, "a delivery to each endpoint to be due");
    expect(await value("postledger_webhook_deliveries_in_flight")).toBe(0);
  } finally {
    await waiting.remove();
  }
});

test("mail that a pause or a disabled sender holds is not due, in metrics as in doctor", async () => {
  const [store] = await testStores();
  const service = await startService(store as TestStore, {
    METRICS_PORT: "0",
    DELIVERY: "on",
    // Nobody listens, so what is due waits.
    SMTP_URL: `smtp://127.0.0.1:${await freePort()}`,
  });
  const doctorsWorkers = async () => {
    const asked = await askRunningService(service.app.dataDir, "/status", DOCTOR_MS_MAX);
    const checks = asked.kind === "answered" ? (asked.body as readonly Check[]) : [];
    return checks.find(({ name }) => name === "delivery workers")?.detail;
  };
  try {
    const untilDue = (count: number) =>
      until(
        async () => (await metricValue("postledger_messages_due", service.app)) === count,
        `${count} messages to be due`,
      ).then(async () => expect(await doctorsWorkers()).toContain(`, ${counted(count, "message")} due`));
    const [paused, other] = [await service.tenant(), await service.tenant()];
    const disabled = (type: "SenderDisabled" | "SenderEnabled") =>
      service.addSenderEvent(other.workspaceId, SENDER, { type, data: {} });
    for (const tenant of [paused, paused, other]) await acceptedId(tenant, message());
    await untilDue(3);
    await service.pause(paused.workspaceId);
    await untilDue(1);
    await disabled("SenderDisabled");
    await untilDue(0);
    await service.resume(paused.workspaceId);
    await untilDue(2);
    await disabled("SenderEnabled");
    await untilDue(3);
  } finally {
    await service.remove();
  }
});

test("metrics say how many events a read model is behind", async () => {
  const behind = (name: string, of = app) =>
    metricValue(`postledger_read_model_behind_events{name="${name}"}`, of);
  await until(async () => (await behind("emails")) === 0, "the read model to be at the head of the log");
  const stopped = await startTestApp({ env: { METRICS_PORT: "0" } });
  const store = openSqliteEventStore({ path: join(stopped.dataDir, "events.db") });
  try {
    // Nobody can read the first, so messages stop there. Other read models go on.
    await store.append("email-damaged", [{ ...newEvent(), type: "EmailQueued" }], "noStream");
    await store.append("others", [newEvent(), newEvent()], "noStream");
    await until(async () => ((await behind("emails", stopped)) ?? 0) >= 3, "the events to be counted");
    await until(async () => (await behind("senders", stopped)) === 0, "another read model to go on");
  } finally {
    await store.close();
    await stopped.remove();
  }
});

test("an append that loses is not counted", async () => {
  const { events, counted } = eventAndRequestCounts();
  const store = counted(memoryEventStore());
  const outcomes = [
    await store.append("one", [newEvent()], "noStream"),
    await store.append("one", [newEvent()], "noStream"),
  ];
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(["appended", "wrongExpectedRevision"]);
  expect(events.get(newEvent().type)).toBe(1);
});

test("metrics say how the service is, in the format of Prometheus", async () => {
  const { answer, text } = await fetchMetrics();
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  for (const check of ["store", "read_models", "disk", "relay", "content"])
    expect(await metricValue(`postledger_check_ok{check="${check}"}`)).toBe(1);
  expect(await metricValue('postledger_read_model_caught_up{name="emails"}')).not.toBeNull();
  expect(await metricValue("postledger_disk_free_bytes")).toBeGreaterThan(0);
  const comment = /^# (?:HELP [a-z\d_]+ .+|TYPE [a-z\d_]+ (?:counter|gauge|histogram))$/;
  const sample = /^[a-z\d_]+(?:\{[a-z_]+="[^"]*"\})? [\d.e+]+$/;
  const invalidLines = text
    .trimEnd()
    .split("\n")
    .filter((line) => !comment.test(line) && !sample.test(line));
  expect(invalidLines).toEqual([]);
});

test("metrics of the process have the names that dashboards of Node.js know", async () => {
  for (const name of [
    "process_start_time_seconds",
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "nodejs_heap_size_used_bytes",
    ...(process.platform === "linux" ? ["process_open_fds", "process_max_fds"] : []),
  ])
    expect(await metricValue(name)).toBeGreaterThan(0);
  // Bun has no total that costs nothing and is at least what is used.
  expect(await metricValue("nodejs_heap_size_total_bytes")).toBeNull();
  for (const name of ["nodejs_external_memory_bytes", "nodejs_eventloop_lag_p99_seconds"])
    expect(await metricValue(name)).toBeGreaterThanOrEqual(0);
  const blockedMs = 200;
  const lagOf = async () => {
    const end = performance.now() + blockedMs;
    while (performance.now() < end);
    const { text } = await fetchMetrics();
    const [mean, max] = ["mean", "max"].map((kind) =>
      Number(new RegExp(`^nodejs_eventloop_lag_${kind}_seconds (.+)$`, "m").exec(text)?.[1]),
    );
    return { mean, max };
  };
  await until(async () => {
    const { mean = 0, max = 0 } = await lagOf();
    return max > blockedMs / 2 / SECOND_MS && mean > 0 && mean <= max;
  }, "the lag of a blocked event loop");
});

test("nothing else is answered there, and no metrics on the port of the API", async () => {
  expect((await fetchMetrics("/api/v1/emails")).answer.status).toBe(404);
  expect((await fetchMetrics("/metrics", { method: "POST" })).answer.status).toBe(405);
  expect((await fetch(`${app.url}/metrics`)).status).toBe(404);
});

test("labels are escaped", () => {
  const samples = [{ labels: { name: 'a"b\\c\nd' }, value: 1 }];
  expect(prometheusText([{ name: "x", help: "y", type: "gauge", samples }])).toBe(
    '# HELP x y\n# TYPE x gauge\nx{name="a\\"b\\\\c\\nd"} 1\n',
  );
});

test("the settings are checked, and a port that is taken is named", async () => {
  expect(readConfig({}).metrics).toBeNull();
  expect(() => readConfig({ METRICS_PORT: "on" })).toThrow("METRICS_PORT must be off, or a whole number");
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as { port: number };
  expect(() => openMetricsListener({ host: "127.0.0.1", port })).toThrow(
    `METRICS_PORT ${port} on 127.0.0.1 is in use`,
  );
  other.close();
});
