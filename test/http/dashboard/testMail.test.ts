import { describe, expect, test } from "bun:test";
import { TEST_SCOPES } from "../../../src/domain/apiKey/scopes.ts";
import { logIn, type Visitor, visitorOf } from "../../support/dashboard.ts";
import { dashboardFixture } from "../../support/dashboardFixture.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { message, newKey, type Tenant } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

describe("test mail in the dashboard", () => {
  const fixture = dashboardFixture(sqliteStore);
  const SUBJECTS = { live: "For customers", test: "For the tests" };

  async function sent(sender: Tenant, subject: string): Promise<string> {
    const { json } = await sender.send(newKey(), message({ subject }));
    const list = async () => (await sender.call("GET", "/api/v1/emails")).json.data;
    await until(
      async () => (await list()).some(({ id }: { id: string }) => id === json.id),
      "the message in the list",
    );
    return json.id;
  }

  const switchMode = async (visitor: Visitor, show: string) => {
    const { status, headers } = await visitor.post("/mail", { show });
    expect(status).toBe(303);
    return visitorOf(fixture.service.url, headers.get("set-cookie")?.split(";")[0] ?? "");
  };

  test("is sent with a test key, as the page says where there is none yet", async () => {
    const tenant = await fixture.service.tenant();
    const pageOf = async (key: string) =>
      (await (await logIn(fixture.service.url, key)).get("/messages")).html;
    const testTenant = await tenant.withKey({ isTest: true, scopes: TEST_SCOPES });
    const shown = await pageOf(testTenant.apiKey);
    expect(shown).toContain("Send one with a test key");
    // This key may not create others.
    expect(shown).not.toContain("Create a test key");
    const manager = await logIn(fixture.service.url, tenant.apiKey);
    const tester = await switchMode(manager, "test");
    expect((await tester.get("/messages")).html).toContain(
      '<a href="/dashboard/api-keys/new">Create a test key</a>',
    );
    expect(await pageOf(tenant.apiKey)).toContain("Send the first one");
  });

  test("is shown in place of live mail where that is asked for, on every page and in the CSV", async () => {
    const testTenant = await fixture.tenant.withKey({ isTest: true, scopes: TEST_SCOPES });
    const ids = {
      live: await sent(fixture.tenant, SUBJECTS.live),
      test: await sent(testTenant, SUBJECTS.test),
    };
    const shows = async (visitor: Visitor, mail: "live" | "test") => {
      const other = mail === "live" ? "test" : "live";
      for (const path of ["/messages", "/messages.csv"]) {
        const { html } = await visitor.get(path);
        expect(html).toContain(SUBJECTS[mail]);
        expect(html).not.toContain(SUBJECTS[other]);
      }
      expect((await visitor.get(`/messages/${ids[mail]}`)).status).toBe(200);
      const otherModeMessage = await visitor.get(`/messages/${ids[other]}`);
      expect(otherModeMessage.status).toBe(404);
      expect(otherModeMessage.html).toContain(`It is ${other} mail`);
      expect(otherModeMessage.html).not.toContain("another workspace");
      const unknownMessage = await visitor.get(`/messages/${crypto.randomUUID()}`);
      expect(unknownMessage.html).toContain("It may belong to another workspace");
      expect((await visitor.get("/")).html.includes("Test mail:")).toBe(mail === "test");
    };
    await shows(fixture.visitor, "live");
    const testVisitor = await switchMode(fixture.visitor, "test");
    await shows(testVisitor, "test");
    const form = await testVisitor.get(`/messages/${ids.test}/send-again`);
    const [, nonce = ""] = /name="nonce" value="([^"]+)"/.exec(form.html) ?? [];
    const sentAgain = await testVisitor.post(`/messages/${ids.test}/send-again`, {
      nonce,
      to: "bo@example.net",
    });
    expect(sentAgain.status).toBe(303);
    const list = async () => (await testTenant.call("GET", "/api/v1/emails")).json.data;
    await until(async () => (await list()).length === 2, "the copy in the list of test mail");
    await shows(await switchMode(testVisitor, "live"), "live");
  });

  test("is all that a test key shows", async () => {
    const testTenant = await fixture.tenant.withKey({ isTest: true, scopes: TEST_SCOPES });
    const visitor = await logIn(fixture.service.url, testTenant.apiKey);
    const { html } = await visitor.get("/messages");
    expect(html).toContain(SUBJECTS.test);
    expect(html).not.toContain(SUBJECTS.live);
    expect(html).not.toContain("Show live mail");
  });

  test("a tab that shows other mail by now downloads no list", async () => {
    const other = await logIn(fixture.service.url, (await fixture.service.tenant()).apiKey);
    for (const [page, file] of [
      ["/messages", "/messages.csv"],
      ["/suppressions", "/suppressions.csv"],
      ["/audit", "/audit/log.csv"],
    ] as const) {
      const { html } = await fixture.visitor.get(page);
      const link = new RegExp(`/dashboard(${file}\\?shown=[^"]+)`).exec(html)?.[1] ?? "";
      expect((await fixture.visitor.get(link)).headers.get("content-type")).toStartWith("text/csv");
      const refused = await other.get(link);
      expect(refused.status).toBe(303);
      expect(refused.headers.get("location")).toBe(`/dashboard${page}`);
      expect((await (await switchMode(fixture.visitor, "test")).get(link)).status).toBe(303);
    }
  });

  test("what a search finds is sent again only as the kind of mail that the question was about", async () => {
    const tenant = await fixture.service.tenant();
    const testTenant = await tenant.withKey({ isTest: true, scopes: TEST_SCOPES });
    await sent(tenant, SUBJECTS.live);
    await sent(testTenant, SUBJECTS.test);
    const fieldsOf = (html: string) =>
      Object.fromEntries(
        [...html.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]),
      );
    const tester = await switchMode(await logIn(fixture.service.url, tenant.apiKey), "test");
    const asked = await tester.get("/messages/send-again?q=to%3Aana%40example.com");
    const live = await switchMode(tester, "live");
    const again = await live.post("/messages/send-again", fieldsOf(asked.html));
    expect(again.html).toContain("Send 1 message again?");
    const answer = await live.post("/messages/send-again", fieldsOf(again.html));
    expect(answer.html).toContain("1 message was sent again");
    const count = async (caller: Tenant) => (await caller.call("GET", "/api/v1/emails")).json.data.length;
    await until(async () => (await count(tenant)) === 2, "the copy in the list of live mail");
    expect(await count(testTenant)).toBe(1);
  });

  test("a test key is made where the box is ticked", async () => {
    const fields = { name: "Staging", scopes: "email:send", test: "true" };
    expect((await fixture.visitor.post("/api-keys/new", fields)).html).toMatch(
      /data-copy="pl_test_[0-9A-Za-z]{50}"/,
    );
    const refused = await fixture.visitor.post("/api-keys/new", { ...fields, scopes: "webhook:manage" });
    expect(refused.status).toBe(400);
    expect(refused.html).toContain("for a test key");
    expect((await fixture.visitor.get("/api-keys")).html).toContain("Staging (test)");
  });
});
