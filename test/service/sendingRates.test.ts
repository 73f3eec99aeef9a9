import { expect, test } from "bun:test";
import { sendingRateLog } from "../../src/service/logLines/sendingRateLogLines.ts";
import { logIn } from "../support/dashboard.ts";
import { runCommand } from "../support/process/runCommand.ts";
import { sqliteStore } from "../support/stores/stores.ts";
import { message, newKey, startService } from "../support/tenants.ts";
import { until } from "../support/until.ts";

const TEST_MS_MAX = 120_000;
const ENV = { DELIVERY: "on", SMTP_URL: "outbox:", METRICS_PORT: "0", BOUNCE_RATE_PAUSE_PERCENT: "5" };

test(
  "a bounce rate shows on the overview, and one that is high in doctor, in the metrics and in the reason of a pause",
  async () => {
    const service = await startService(sqliteStore, ENV);
    try {
      const tenant = await service.tenant();
      const overview = async () => (await (await logIn(service.url, tenant.apiKey)).get("/")).html;
      const workspace = async () => (await tenant.call("GET", "/api/v1/workspace")).json;
      const doctorSays = async (name: string) =>
        (await runCommand(["doctor"], service.app.dataDir)).out
          .split("\n")
          .find((line) => line.includes(` ${name}: `));
      expect(await overview()).toContain("none: fewer than 100 messages were sent");
      expect(await doctorSays("bounce and complaint rates")).toStartWith("ok ");

      const emails = Array.from({ length: 100 }, (_, nth) => ({
        ...message({ to: `${nth}@example.com` }),
        idempotency_key: newKey(),
      }));
      const { json } = await tenant.call("POST", "/api/v1/emails/batch", { body: { emails } });
      const ids: string[] = json.data.map(({ id }: { id: string }) => id);
      const areSent = async () => (await overview()).includes("0 hard bounces of 100 messages<");
      await until(areSent, "all to be sent");
      const report = { type: "bounced", status: "5.1.1", reply: "550 5.1.1 user unknown" };
      for (const id of ids.slice(0, 5))
        await tenant.call("POST", "/api/v1/feedback", { body: { ...report, email_id: id } });
      const isCounted = async () => (await overview()).includes("5 hard bounces of 100 messages<");
      await until(isCounted, "the bounces");
      const html = await overview();
      expect(html).toContain('<span class="status bad">5 %</span>');
      const [, query = ""] = /messages\?(q=status%3Abounced\+reason[^"]*)">Show bounces/.exec(html) ?? [];
      const list = await (await logIn(service.url, tenant.apiKey)).get(
        `/messages?${query.replaceAll("&amp;", "&")}`,
      );
      expect(list.html.match(/data-row=/g)).toHaveLength(5);

      // It looks when it starts, and then once a minute.
      await service.restart();
      await until(async () => (await workspace()).sending === "paused", "the pause");
      const reason =
        /^The service paused it: its bounce rate was 5 % \(5 hard bounces of 100 messages since 20.*\)\.$/;
      expect((await workspace()).pause_reason).toMatch(reason);
      expect(await doctorSays("bounce and complaint rates")).toMatch(
        new RegExp(`^warning .*\\(${tenant.workspaceId}\\): bounce rate 5 %, 5 hard bounces of 100 messages`),
      );
      await until(
        async () => (await doctorSays("sending"))?.includes("bounce rate 5 %") === true,
        "the check",
      );
      const metrics = await (await fetch(`${service.app.app.metrics}metrics`)).text();
      expect(metrics).toContain('postledger_workspaces_high_rate{rate="bounce"} 1');
      expect(metrics).toContain('postledger_workspaces_high_rate{rate="complaint"} 0');
      expect(await overview()).toContain("The service paused it: its bounce rate was 5 %");
      const { json: audit } = await tenant.call("GET", "/api/v1/audit-log?action=sending.paused");
      expect(audit.data).toMatchObject([
        { actor: { type: "system" }, details: { rate: "bounce", reported: 5, sent: 100 } },
      ]);
    } finally {
      await service.remove();
    }
  },
  TEST_MS_MAX,
);

test("a high rate has a warning with its figures, and a line when it is over", () => {
  const lines: unknown[] = [];
  const noting =
    (level: string) =>
    (...line: unknown[]) =>
      void lines.push([level, ...line]);
  const logger = { warn: noting("warn"), info: noting("info") };
  const tell = sendingRateLog(logger);
  const rate = { workspaceId: "w", kind: "complaint", reported: 2, sent: 1_500 } as const;
  tell("began", rate);
  tell("ended", { ...rate, sent: 3_000 });
  const facts = { workspaceId: "w", rate: "complaint", reported: 2 };
  expect(lines).toEqual([
    [
      "warn",
      { ...facts, percent: "0.13 %", sent: 1_500 },
      expect.stringContaining("providers suspend accounts"),
    ],
    [
      "info",
      { ...facts, percent: "0.06 %", sent: 3_000 },
      expect.stringContaining("no high bounce or complaint rate any more"),
    ],
  ]);
});
