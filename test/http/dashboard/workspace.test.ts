import { describe, expect, test } from "bun:test";
import { workspaceStream } from "../../../src/domain/workspace/events.ts";
import { logIn } from "../../support/dashboard.ts";
import { dashboardFixture } from "../../support/dashboardFixture.ts";
import { setLimits } from "../../support/limits.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { message, newKey } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

describe("the workspace in the dashboard", () => {
  const fixture = dashboardFixture(sqliteStore, { LIMIT_MESSAGES_PER_DAY: "12345" });

  test("its limits stand beside what is used of them, and its usage by day", async () => {
    expect((await fixture.visitor.get("/workspace")).html).toContain("No message was accepted.");
    expect((await fixture.tenant.send(newKey(), message())).status).toBe(202);
    const simulated = message({ to: "delivered@simulator.test" });
    expect((await fixture.tenant.send(newKey(), simulated)).status).toBe(202);
    const { html } = await fixture.visitor.get("/workspace");
    expect(html).toContain("1 of 12,345");
    expect(html).toContain('of <span title="1,000,000,000 bytes">1 GB</span>');
    expect(html).toContain(`postledger workspace limits ${fixture.tenant.workspaceId} --help`);
    const { limits } = (await fixture.tenant.call("GET", "/api/v1/workspace")).json;
    for (const name of Object.keys(limits)) expect(html).toContain(`<code>${name}</code>`);
    // No narrow window leaves out a count.
    expect(html).not.toContain("minor");
    expect(html).toMatch(/<tr id="row-\d{4}-\d\d-\d\d"><td>[\d-]+<\/td><td class="number">2<\/td>/);
  });

  test("the messages of the day are marked once 80 % of the limit are used", async () => {
    const { service, tenant, visitor } = fixture;
    for (let sent = 0; sent < 4; sent += 1) await tenant.send(newKey(), message());
    const used = (await tenant.call("GET", "/api/v1/workspace")).json.usage.messages_today;
    expect((await visitor.get("/workspace")).html).not.toContain("the limit</span>");
    for (const [label, messagesPerDay] of Object.entries({ near: used + 1, at: used })) {
      await setLimits(service.log, tenant.workspaceId, { messagesPerDay });
      expect((await visitor.get("/workspace")).html).toContain(`${label} the limit</span>`);
    }
    await setLimits(service.log, tenant.workspaceId, { messagesPerDay: 12_345 });
    // Within a second.
    await until(
      async () => (await tenant.send(newKey(), message())).status === 202,
      "the limit to be lifted",
    );
  });

  test("a quota for content that is nearly used up is marked, and told of in the overview", async () => {
    const { service, visitor } = fixture;
    const tenant = await service.tenant();
    const own = await logIn(service.url, tenant.apiKey);
    const text = "x".repeat(9_000);
    for (const contentBytes of [10_000, 1_000_000]) {
      await setLimits(service.log, tenant.workspaceId, { contentBytes });
      // The second send is decided on what the first one uses.
      for (let sent = 0; sent < 2; sent += 1) await tenant.send(newKey(), message({ text }));
      const isNear = contentBytes === 10_000;
      const says = (html: string) => html.includes("quota for content, ");
      await until(async () => says((await own.get("/")).html) === isNear, "the overview");
      expect((await own.get("/workspace")).html.includes("the limit</span>")).toBe(isNear);
    }
    expect((await visitor.get("/")).html).not.toContain("quota for content, ");
  });

  test("messages are counted by their tags, each of which leads to its messages", async () => {
    await fixture.tenant.send(newKey(), message({ tags: ["welcome", "spring & sale"] }));
    await fixture.tenant.send(newKey(), message({ tags: ["welcome"] }));
    const tagRows = async () => {
      const { html } = await fixture.visitor.get("/workspace");
      return html.split("Tags of the last 30 days")[1]?.split('<tr id="row-tag-').slice(1) ?? [];
    };
    // The page waits for its counts for a while only.
    await until(async () => (await tagRows())[0]?.includes(">2<") === true, "both messages to be counted");
    const [welcome, sale] = await tagRows();
    expect(welcome).toMatch(/q=tag%3Awelcome">welcome<\/a><\/td><td class="number">2</);
    expect(sale).toMatch(
      /q=tag%3A%22spring\+%26\+sale%22">spring &amp; sale<\/a><\/td><td class="number">1</,
    );
  });

  test("usage is not shown to a key that may not read it", async () => {
    const { apiKey } = await fixture.tenant.withKey({ scopes: ["workspace:manage"] });
    const { html } = await (await logIn(fixture.service.url, apiKey)).get("/workspace");
    expect(html).toContain("Messages today");
    expect(html).toContain("Content of test mail");
    expect(html).not.toContain("Usage of the last 30 days");
  });

  test("sending is paused after one question, and resumed, by the key that asked", async () => {
    const question = (await fixture.visitor.get("/workspace/pause")).html.split('class="confirmation"')[1];
    expect(question).toContain("Pause sending?");
    expect(question).toContain("In workspace <strong>test</strong>");
    expect((await fixture.visitor.post("/workspace/pause")).location).toBe("/dashboard/workspace");
    expect((await fixture.visitor.get("/workspace")).html).toContain("sending is paused");
    expect((await fixture.tenant.send(newKey(), message())).json.code).toBe("SENDING_PAUSED");
    await fixture.visitor.post("/workspace/resume");
    expect((await fixture.tenant.send(newKey(), message())).status).toBe(202);
    const events = await fixture.service.log.store.read(workspaceStream(fixture.tenant.workspaceId), 0, 100);
    const actors = events.slice(-2).map(({ metadata }) => metadata.actor);
    expect(actors).toEqual([`api-key:${fixture.tenant.keyId}`, `api-key:${fixture.tenant.keyId}`]);
  });

  test("every page says since when sending is paused, and where it is resumed", async () => {
    const { service, tenant, visitor } = fixture;
    const reader = await logIn(
      service.url,
      (await tenant.withKey({ scopes: ["email:read", "email:send"] })).apiKey,
    );
    const pages = ["/", "/messages", "/messages/new", "/workspace"];
    const banners = async () =>
      (await Promise.all(pages.map((path) => visitor.get(path)))).map(
        ({ html }) => /<p class="notice">Sending has been paused since .*?<\/p>/s.exec(html)?.[0] ?? null,
      );
    expect(await banners()).toEqual(pages.map(() => null));
    const { paused_at: at } = (await tenant.call("POST", "/api/v1/workspace/pause")).json;
    for (const banner of await banners()) {
      expect(banner).toContain(`<time datetime="${at}"`);
      expect(banner).toContain('href="/dashboard/workspace"');
    }
    const health = (await visitor.get("/")).html.split('id="health"')[1];
    expect(health).toMatch(/<dt>Sending<\/dt><dd><span class="status waiting">warning<\/span>/);
    expect(health).toContain("paused since <time");
    const { html } = await reader.get("/messages/new");
    expect(html).toContain("A key with the scope workspace:manage can resume it.");
    expect(html).not.toContain('href="/dashboard/workspace"');
    await visitor.post("/workspace/resume");
    expect(await banners()).toEqual(pages.map(() => null));
    expect((await visitor.get("/")).html).not.toContain("<dt>Sending</dt>");
  });
});
