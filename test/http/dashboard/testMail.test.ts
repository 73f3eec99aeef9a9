import { describe, expect, test } from "bun:test";
import { TEST_SCOPES } from "../../../src/domain/apiKey/scopes.ts";
import { logIn, type Visitor, visitorOf } from "../../support/dashboard.ts";
import { dashboardFixture } from "../../support/dashboardFixture.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, type Tenant } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

describe.each(await testStores())("test mail in the dashboard on $name", (store) => {
  const here = dashboardFixture(store);
  const SUBJECTS = { live: "For customers", test: "For the tests" };

  async function sent(by: Tenant, subject: string): Promise<string> {
    const { json } = await by.send(newKey(), message({ subject }));
    const list = async () => (await by.call("GET", "/api/v1/emails")).json.data;
    await until(
      async () => (await list()).some(({ id }: { id: string }) => id === json.id),
      "it to be listed",
    );
    return json.id;
  }

  test("is shown in place of live mail where that is asked for, on every page and in the CSV", async () => {
    const tester = await here.tenant.withKey({ isTest: true, scopes: TEST_SCOPES });
    const ids = {
      live: await sent(here.tenant, SUBJECTS.live),
      test: await sent(tester, SUBJECTS.test),
    };
    const switched = async (by: Visitor, show: string) => {
      const { status, headers } = await by.post("/mail", { show });
      expect(status).toBe(303);
      return visitorOf(here.service.url, headers.get("set-cookie")?.split(";")[0] ?? "");
    };
    const shows = async (by: Visitor, mail: "live" | "test") => {
      const other = mail === "live" ? "test" : "live";
      for (const path of ["/messages", "/messages.csv"]) {
        const { html } = await by.get(path);
        expect(html).toContain(SUBJECTS[mail]);
        expect(html).not.toContain(SUBJECTS[other]);
      }
      expect((await by.get(`/messages/${ids[mail]}`)).status).toBe(200);
      const elsewhere = await by.get(`/messages/${ids[other]}`);
      expect(elsewhere.status).toBe(404);
      expect(elsewhere.html).toContain(`It is ${other} mail`);
      expect(elsewhere.html).not.toContain("another workspace");
      const nowhere = await by.get(`/messages/${crypto.randomUUID()}`);
      expect(nowhere.html).toContain("It may belong to another workspace");
      expect((await by.get("/")).html.includes("Test mail:")).toBe(mail === "test");
    };
    await shows(here.visitor, "live");
    const inTest = await switched(here.visitor, "test");
    await shows(inTest, "test");
    const form = await inTest.get(`/messages/${ids.test}/send-again`);
    const [, nonce = ""] = /name="nonce" value="([^"]+)"/.exec(form.html) ?? [];
    const again = await inTest.post(`/messages/${ids.test}/send-again`, { nonce, to: "bo@example.net" });
    expect(again.status).toBe(303);
    const list = async () => (await tester.call("GET", "/api/v1/emails")).json.data;
    await until(async () => (await list()).length === 2, "it to be sent again as test mail");
    await shows(await switched(inTest, "live"), "live");
  });

  test("is all that a test key shows", async () => {
    const tester = await here.tenant.withKey({ isTest: true, scopes: TEST_SCOPES });
    const visitor = await logIn(here.service.url, tester.apiKey);
    const { html } = await visitor.get("/messages");
    expect(html).toContain(SUBJECTS.test);
    expect(html).not.toContain(SUBJECTS.live);
    expect(html).not.toContain("Show live mail");
  });

  test("a test key is made where the box is ticked", async () => {
    const fields = { name: "Staging", scopes: "email:send", test: "true" };
    expect((await here.visitor.post("/api-keys", fields)).html).toMatch(
      /data-copy="pl_test_[0-9A-Za-z]{50}"/,
    );
    const tooMuch = await here.visitor.post("/api-keys", { ...fields, scopes: "webhook:manage" });
    expect(tooMuch.status).toBe(400);
    expect(tooMuch.html).toContain("for a test key");
    expect((await here.visitor.get("/api-keys")).html).toContain("Staging (test)");
  });
});
