import { beforeAll, describe, expect, test } from "bun:test";
import { recordBackupOrExport } from "../../../src/commands/instance/recordBackupOrExport.ts";
import { AUDIT_STREAM, auditCodec } from "../../../src/domain/audit/events.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { logIn, type Visitor } from "../../support/dashboard.ts";
import { dashboardFixture, logInAsOperator } from "../../support/dashboardFixture.ts";
import { runCommand } from "../../support/process/runCommand.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { message, newKey } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const TEST_MS_MAX = 120_000;

describe("the audit in the dashboard", () => {
  const fixture = dashboardFixture(sqliteStore, { WEBHOOK_ALLOW_PRIVATE_HOSTS: "127.0.0.1:4001" });
  let operator: Visitor;
  beforeAll(async () => {
    operator = await logInAsOperator(fixture.service, fixture.tenant);
  });

  const ended = async (path: string) => {
    await until(
      async () => !(await operator.get(path)).html.includes('aria-label="Under way"'),
      "the task to end",
      TEST_MS_MAX / 2,
    );
    return (await operator.get(path)).html;
  };

  test("the audit log says who did what, and a filter finds it", async () => {
    await fixture.visitor.post("/workspace/pause");
    await fixture.visitor.post("/workspace/resume");
    /** What the rows say that was done; the filter offers all there is. */
    const actions = async (path: string) => {
      const { html } = await fixture.visitor.get(path);
      return [...html.matchAll(/<a class="quiet" href="[^"]*action=[^"]*">([^<]+)</g)].map(
        ([, text]) => text,
      );
    };
    await until(
      async () => (await actions("/audit")).includes("Sending resumed"),
      "the entries in the audit log",
    );
    expect(await actions("/audit")).toContain("Sending paused");
    expect((await fixture.visitor.get("/audit")).html).toContain(
      `href="/dashboard/audit?actor=${encodeURIComponent(fixture.tenant.keyId)}"`,
    );
    expect(await actions("/audit?action=sending.paused")).toEqual(["Sending paused"]);
    const keys = await actions("/audit?target_type=api_key&from=2026-01-01&before=2100-01-01");
    expect(keys).toContain("API key issued");
    expect(keys).not.toContain("Sending paused");
    expect((await fixture.visitor.get("/audit?before=2026-01-01")).html).toContain("Nothing matches");
  });

  test("the audit log names an endpoint by its URL and a suppression by its address, for a key that may see them", async () => {
    const { tenant, service } = fixture;
    const url = "http://127.0.0.1:4001/hooks/shop";
    const { id } = (await tenant.call("POST", "/webhooks", { body: { url } })).json;
    await tenant.call("POST", "/api/v1/suppressions", { body: { address: "ana@example.org" } });
    const links = [
      `<a href="/dashboard/webhooks/${id}">${url}</a>`,
      '<a href="/dashboard/suppressions?address=ana%40example.org">ana@example.org</a>',
    ];
    const isLinked = async () => {
      const { html } = await fixture.visitor.get("/audit");
      return links.every((link) => html.includes(link));
    };
    await until(isLinked, "the names in the audit log");
    const { apiKey } = await tenant.withKey({ scopes: ["workspace:manage"] });
    const { html } = await (await logIn(service.url, apiKey)).get("/audit");
    expect(html).toContain("127.0.0.1:4001");
    for (const text of ["/hooks/shop", "ana@example.org"]) expect(html).not.toContain(text);
  });

  test("an invalid filter is reported, and the form keeps it", async () => {
    const { status, html } = await fixture.visitor.get("/audit?from=yesterday&action=sending.paused");
    expect(status).toBe(422);
    expect(html).toContain("A day is written as 2026-11-22.");
    expect(html).toContain('<option value="sending.paused" selected');
    const unknown = await fixture.visitor.get("/audit?action=no.such");
    expect(unknown.status).toBe(422);
    expect(unknown.html).toContain("There is nothing of that kind in the audit log.");
    const nobody = await fixture.visitor.get("/audit?actor=nobody");
    expect(nobody.status).toBe(422);
    expect(nobody.html).toContain(
      "By takes the id of an API key, or one of command_line, verification_link, system.",
    );
    expect((await fixture.visitor.get("/audit?actor=command_line")).status).toBe(200);
    expect((await fixture.visitor.get("/audit/log.csv?from=yesterday")).status).toBe(400);
  });

  test("the audit log is a file, formulas in it are text, and another workspace's is another one", async () => {
    const named = await fixture.tenant.call("POST", "/api/v1/api-keys", {
      body: { name: "=cmd|' /C calc'!A0", scopes: ["email:read"] },
    });
    expect(named.status).toBe(201);
    const file = () => fixture.visitor.get("/audit/log.csv?action=api_key.issued");
    await until(async () => (await file()).html.includes("calc"), "the entry in the audit log");
    const { html: csv, headers } = await file();
    expect(headers.get("content-disposition")).toBe('attachment; filename="audit-log.csv"');
    expect(csv).toStartWith("id,created_at,action,actor_type");
    expect(csv).toContain(`'=cmd|' /C calc'!A0`);
    const other = await logIn(fixture.service.url, (await fixture.service.tenant()).apiKey);
    expect((await other.get("/audit/log.csv")).html).not.toContain("calc");
    expect((await other.get("/audit")).html).not.toContain("calc");
  });

  test("hostile names are text", async () => {
    await fixture.tenant.call("POST", "/api/v1/api-keys", {
      body: { name: "<script>alert(1)</script>", scopes: ["email:read"] },
    });
    await until(
      async () => (await fixture.visitor.get("/audit")).html.includes("&lt;script&gt;"),
      "the entry in the audit log",
    );
    expect((await fixture.visitor.get("/audit")).html).not.toContain("<script>alert");
  });

  test("only who came by a link starts work on the whole installation", async () => {
    for (const path of ["/audit/seals/verify", "/audit/read-models/verify", "/audit/read-models/rebuild"]) {
      const { status, html } = await fixture.visitor.post(path);
      expect({ path, status }).toEqual({ path, status: 403 });
      expect(html).toContain("postledger dashboard link");
    }
    expect((await fixture.visitor.get("/audit/seals")).html).not.toContain("Verify the log</button>");
    expect((await fixture.visitor.get("/audit/read-models")).html).not.toContain("Rebuild all");
    expect((await operator.get("/audit/read-models")).html).toContain("Rebuild all");
  });

  test(
    "the log is verified in the background, one task at a time, and what was found stays to be read",
    async () => {
      await fixture.tenant.send(newKey(), message());
      expect((await operator.get("/audit/seals")).html).toContain("The log was not verified here");
      const started = await operator.post("/audit/seals/verify");
      expect(started.location).toBe("/dashboard/audit/seals");
      const refused = await operator.post("/audit/read-models/rebuild");
      expect(refused.location).toBe("/dashboard/audit/read-models");
      expect(await ended("/audit/seals")).toContain("nothing found");
      // The rebuild was not kept for later.
      expect((await operator.get("/audit/read-models")).html).not.toContain("rebuilt and in use");
      const seen = await fixture.visitor.get("/audit/seals");
      expect(seen.html).toContain("nothing found");
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
      expect((await fixture.visitor.post("/suppressions", { address: "ana@example.com" })).status).toBe(303);
      expect(await ended("/audit/read-models")).toContain("1 read model rebuilt and in use.");
      await until(
        async () => (await fixture.visitor.get("/suppressions")).html.includes("ana@example.com"),
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
    await recordBackupOrExport(
      fixture.service.log.store,
      { kind: "backup", place: "/var/backups/one" },
      systemCommandContext("cli"),
    );
    await until(
      async () => (await operator.get("/audit/copies")).html.includes("/var/backups/one"),
      "the copy in the list",
    );
    const { html } = await fixture.visitor.get("/audit/copies");
    expect(html).toContain("<td>Backup</td>");
    expect(html).not.toContain("/var/backups/one");
  });
});

describe("the figures of a verification", () => {
  const fixture = dashboardFixture(sqliteStore, { AUDIT_SEAL_INTERVAL_MS: "20" });

  test(
    "add up after sealed events were erased, on the page and on the command line",
    async () => {
      const { service, tenant } = fixture;
      const { store } = service.log;
      const operator = await logInAsOperator(service, tenant);
      const { json } = await tenant.send(newKey(), message({ to: "suppressed@simulator.test" }));
      const sealedStreams = async () =>
        (await store.read(AUDIT_STREAM, 0, 100)).flatMap((event) => auditCodec.decode(event).data.streams);
      await until(async () => (await sealedStreams()).includes(`email-${json.id}`), "a seal of the message");
      expect((await tenant.call("DELETE", `/api/v1/emails/${json.id}/content`)).status).toBe(200);

      await operator.post("/audit/seals/verify");
      const page = async () => (await operator.get("/audit/seals")).html;
      const hasEnded = async () => (await page()).includes("nothing found");
      await until(hasEnded, "the end of the verification", TEST_MS_MAX / 2);
      const html = await page();
      const figure = (name: string) => Number(new RegExp(`<dt>${name}</dt><dd>(\\d+)`).exec(html)?.[1]);
      expect(figure("Sealed") + figure("Not sealed yet") + figure("Never sealed")).toBe(figure("Checked"));
      expect(figure("Erased since")).toBeGreaterThan(0);

      const { out } = await runCommand(["audit", "verify"], service.app.dataDir);
      const count = (text: string) => Number(new RegExp(`(\\d+) ${text}`).exec(out)?.[1]);
      const parts = [count("of them against"), count("events? that came"), count("events? that no seal")];
      expect(parts.reduce((sum, part) => sum + part)).toBe(count("events in"));
      expect(count("events? erased since")).toBe(figure("Erased since"));
    },
    TEST_MS_MAX,
  );
});
