import { expect, test } from "bun:test";
import { join } from "node:path";
import { logIn } from "../../support/dashboard.ts";
import { startNameServer } from "../../support/servers/nameServer.ts";
import { startTestProcess } from "../../support/service.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";
import { until } from "../../support/until.ts";

const BLOCKED = "a webhook endpoint is not called";
const SETTINGS = { DELIVERY: "on", SMTP_URL: "outbox:", WEBHOOK_SCHEDULE_MS: "0,0,0" };

const dataDir = temporaryFolder();

test("an endpoint under development without its setting is named once in the log, and on its page, with what to do", async () => {
  const receiver = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("ok") });
  const pair = `localhost:${receiver.port}`;
  const setting = `WEBHOOK_ALLOW_PRIVATE_HOSTS=${pair}`;
  const allowed = await startTestProcess({
    dataDir,
    env: { ...SETTINGS, WEBHOOK_ALLOW_PRIVATE_HOSTS: pair },
  });
  const { json: endpoint } = await allowed.call("POST", "/webhooks", {
    body: { url: `http://${pair}/hook?token=hidden` },
  });
  await allowed.kill("SIGTERM");
  expect(allowed.log()).not.toContain(BLOCKED);

  const service = await startTestProcess({ dataDir, env: SETTINGS });
  await service.call("POST", `/webhooks/${endpoint.id}/test`);
  const path = `/webhooks/${endpoint.id}/deliveries?status=exhausted`;
  await until(async () => (await service.call("GET", path)).json.data.length === 1, "the last attempt");
  const lines = service
    .log()
    .split("\n")
    .filter((line) => line.includes(BLOCKED));
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({
      level: 40,
      endpointId: endpoint.id,
      host: pair,
      msg: expect.stringContaining(setting),
    }),
  ]);
  expect(lines[0]).not.toContain("hidden");

  const { html } = await (await logIn(service.url, service.apiKey)).get(`/webhooks/${endpoint.id}`);
  expect(html).toContain(`It is not called, because its name leads to an address that is not public.`);
  expect(html).toContain(setting);
  await service.kill("SIGTERM");
  await receiver.stop(true);
});

test("an endpoint of a public service whose name leads into a private network later is named without a word of settings", async () => {
  let address = "8.8.8.8";
  const dns = await startNameServer((_name, type) => (type === "A" ? [address] : []));
  const directory = join(dataDir, "public");
  const service = await startTestProcess({
    dataDir: directory,
    env: { ...SETTINGS, DNS_SERVERS: dns.address, BASE_URL: "https://mail.example.com", BOOTSTRAP: "on" },
  });
  const { json: endpoint } = await service.call("POST", "/webhooks", {
    body: { url: "https://hooks.example.org/" },
  });
  address = "10.0.0.7";
  await service.call("POST", `/webhooks/${endpoint.id}/test`);
  await until(() => service.log().includes(BLOCKED), "the line");
  const line = service
    .log()
    .split("\n")
    .find((one) => one.includes(BLOCKED));
  expect(JSON.parse(line ?? "{}")).toMatchObject({ endpointId: endpoint.id, host: "hooks.example.org" });
  expect(line).toContain("every address of its name must be public");
  expect(line).not.toMatch(/WEBHOOK_ALLOW|10\.0\.0\.7/);
  await service.kill("SIGTERM");
  dns.stop();
});
