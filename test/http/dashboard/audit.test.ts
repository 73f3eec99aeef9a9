import { beforeAll, describe, expect, test } from "bun:test";
import { recordLogCopy } from "../../../src/commands/instance/freezeLogAndResumeDelivery.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { logIn, type Visitor } from "../../support/dashboard.ts";
import { dashboardFixture, logInAsOperator } from "../../support/dashboardFixture.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const TEST_MS_MAX = 120_000;

describe.each(await testStores())("the audit in the dashboard on $name", (store) => {
  const here = dashboardFixture(store);
  let operator: Visitor;
  beforeAll(async () => {
    operator = await logInAsOperator(here.service, here.tenant);
  });

  const ended = async (path: string) => {
    await until(
      async () => !(await operator.get(path)).html.includes('aria-label="Under way"'),
      "the end of the task",
      TEST_MS_MAX / 2,
    );
    return (await operator.get(path)).html;
  };

  test("the audit log says who did what, and a filter finds it", async () => {
    await here.visitor.post("/workspace/pause");
    await here.visitor.post("/workspace/resume");
    await until(
      async () => (await here.visitor.get("/audit")).html.includes("Sending resumed"),
      "the entries",
    );
    const { html } = await here.visitor.get("/audit");
    expect(html).toContain("Sending paused");
    expect(html).toContain(`href="/dashboard/audit?actor=${encodeURIComponent(here.tenant.keyId)}"`);
    const paused = await here.visitor.get("/audit?action=sending.paused");
    expect(paused.html).toContain("Sending paused");
    expect(paused.html).not.toContain("Sending resumed");
    const keys = await here.visitor.get("/audit?target_type=api_key&from=2026-01-01&before=2100-01-01");
    expect(keys.html).toContain("API key issued");
    expect(keys.html).not.toContain("Sending paused");
    expect((await here.visitor.get("/audit?before=2026-01-01")).html).toContain("Nothing matches");
  });

  test("a filter that means nothing is told, and the form keeps it", async () => {
    const { status, html } = await here.visitor.get("/audit?from=yesterday&action=sending.paused");
    expect(status).toBe(422);
    expect(html).toContain("A day is written as 2026-11-22.");
    expect(html).toContain('value="sending.paused"');
    expect((await here.visitor.get("/audit/log.csv?from=yesterday")).status).toBe(400);
  });

  test("the audit log is a file, formulas in it are text, and another workspace's is another one", async () => {
    const named = await here.tenant.call("POST", "/api/v1/api-keys", {
      body: { name: "=cmd|' /C calc'!A0", scopes: ["email:read"] },
    });
    expect(named.status).toBe(201);
    const file = () => here.visitor.get("/audit/log.csv?action=api_key.issued");
    await until(async () => (await file()).html.includes("calc"), "the entry");
    const { html: csv, headers } = await file();
    expect(headers.get("content-disposition")).toBe('attachment; filename="audit-log.csv"');
    expect(csv).toStartWith("id,created_at,action,actor_type");
    expect(csv).toContain(`'=cmd|' /C calc'!A0`);
    const other = await logIn(here.service.url, (await here.service.tenant()).apiKey);
    expect((await other.get("/audit/log.csv")).html).not.toContain("calc");
    expect((await other.get("/audit")).html).not.toContain("calc");
  });

  test("hostile names are text", async () => {
    await here.tenant.call("POST", "/api/v1/api-keys", {
      body: { name: "<script>alert(1)</script>", scopes: ["email:read"] },
    });
    await until(async () => (await here.visitor.get("/audit")).html.includes("&lt;script&gt;"), "the entry");
    expect((await here.visitor.get("/audit")).html).not.toContain("<script>alert");
  });

  test("only who came by a link starts work on the whole installation", async () => {
    for (const path of ["/audit/seals/verify", "/audit/read-models/verify", "/audit/read-models/rebuild"]) {
      const { status, html } = await here.visitor.post(path);
      expect({ path, status }).toEqual({ path, status: 403 });
      expect(html).toContain("postledger dashboard link");
    }
    expect((await here.visitor.get("/audit/seals")).html).not.toContain("Verify the log</button>");
    expect((await here.visitor.get("/audit/read-models")).html).not.toContain("Rebuild all");
    expect((await operator.get("/audit/read-models")).html).toContain("Rebuild all");
  });

  test(
    "the log is verified in the background, one task at a time, and what was found stays to be read",
    async () => {
      await here.tenant.send(newKey(), message());
      expect((await operator.get("/audit/seals")).html).toContain("The log was not verified here");
      const begun = await operator.post("/audit/seals/verify");
      expect(begun.location).toBe("/dashboard/audit/seals");
      const refused = await operator.post("/audit/read-models/rebuild");
      expect(refused.location).toBe("/dashboard/audit/read-models");
      // On a log that tests share, others may have left something to find.
      const found = store.isShared ? /nothing found|\d+ findings?/ : /nothing found/;
      expect(await ended("/audit/seals")).toMatch(found);
      // The rebuild was not kept for later.
      expect((await operator.get("/audit/read-models")).html).not.toContain("rebuilt and in use");
      const seen = await here.visitor.get("/audit/seals");
      expect(seen.html).toMatch(found);
    },
    TEST_MS_MAX,
  );

  test(
    "a read model is verified and rebuilt while the service goes on",
    async () => {
      expect((await operator.get("/audit/read-models")).html).toContain("<code>webhook-endpoints</code>");
      await operator.post("/audit/read-models/verify", { name: "suppressions" });
      expect(await ended("/audit/read-models")).toContain("1 read model compared with the log: they agree.");
      await operator.post("/audit/read-models/rebuild", { name: "suppressions" });
      expect((await here.visitor.post("/suppressions", { address: "ana@example.com" })).status).toBe(303);
      expect(await ended("/audit/read-models")).toContain("1 read model rebuilt and in use.");
      await until(
        async () => (await here.visitor.get("/suppressions")).html.includes("ana@example.com"),
        "the list after the rebuild",
      );
      expect((await operator.post("/audit/read-models/verify", { name: "no-such" })).status).toBe(404);
    },
    TEST_MS_MAX,
  );

  test(
    "a task is given up",
    async () => {
      await operator.post("/audit/read-models/rebuild");
      const { location } = await operator.post("/audit/give-up", { path: "/audit/read-models" });
      expect(location).toBe("/dashboard/audit/read-models");
      const html = await ended("/audit/read-models");
      expect(html).toMatch(/Rebuild of the read models/);
    },
    TEST_MS_MAX,
  );

  test("copies of the log are listed; where they are is for the operator", async () => {
    await recordLogCopy(
      here.service.log.store,
      { kind: "backup", place: "/var/backups/one" },
      systemCommandContext("cli"),
    );
    // On a log that tests share there may be copies of others.
    await until(
      async () => (await operator.get("/audit/copies")).html.includes("/var/backups/one"),
      "the copy",
    );
    const { html } = await here.visitor.get("/audit/copies");
    expect(html).toContain("<td>Backup</td>");
    expect(html).not.toContain("/var/backups/one");
  });
});
