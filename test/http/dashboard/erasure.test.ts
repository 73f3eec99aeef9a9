import { describe, expect, test } from "bun:test";
import { erasureStream } from "../../../src/domain/erasure/events.ts";
import { logIn } from "../../support/dashboard.ts";
import { dashboardFixture } from "../../support/dashboardFixture.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { message, newKey } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

describe("erasures in the dashboard", () => {
  const fixture = dashboardFixture(sqliteStore);

  test("an empty list says what it is for", async () => {
    expect((await fixture.visitor.get("/audit/erasures")).html).toContain("Nobody was erased");
  });

  test("a person is erased by the key that asked, and the report says what was reached and what was not", async () => {
    const sent = await fixture.tenant.send(newKey(), message({ to: "ana@example.org" }));
    expect(sent.status).toBe(202);
    const { html } = await fixture.visitor.get("/audit/erasures/new");
    expect(html).toContain("This cannot be undone.");
    const { location } = await fixture.visitor.post("/audit/erasures/new", {
      address: "Ana@example.org",
      reference: " SUP-4711 ",
    });
    const path = location?.replace("/dashboard", "") ?? "";
    expect(path).toMatch(/^\/audit\/erasures\/[0-9a-f-]{36}$/);
    await until(
      async () => (await fixture.visitor.get(path)).html.includes(">completed<"),
      "the erasure to complete",
      60_000,
    );
    const report = await fixture.visitor.get(path);
    expect(report.html).toContain("<dt>Reference</dt><dd>SUP-4711</dd>");
    expect(report.html).toContain("1, 1 of them canceled");
    expect(report.html).toContain("Copies of the log, the content or the outbox");
    // What is done needs no more looks.
    expect(report.html).not.toContain("every 2s");
    expect((await fixture.visitor.get(`/messages/${sent.json.id}`)).html).not.toContain("ana@example.org");
    await until(
      async () => (await fixture.visitor.get("/audit/erasures")).html.includes(path),
      "the request in the list",
    );
    expect((await fixture.visitor.get("/audit/erasures")).html).toContain("SUP-4711");
    const id = path.split("/").at(-1) ?? "";
    const [requested] = await fixture.service.log.store.read(erasureStream(id), 0, 1);
    expect(requested?.metadata.actor).toBe(`api-key:${fixture.tenant.keyId}`);
  }, 90_000);

  test("what is no address is refused, with what was typed", async () => {
    const { status, html } = await fixture.visitor.post("/audit/erasures/new", { address: "ana at example" });
    expect(status).toBe(400);
    expect(html).toContain('value="ana at example"');
    expect(html).toContain('id="address-fault"');
    const named = { address: "ana@example.org", reference: "from ana@example.org" };
    const other = await fixture.visitor.post("/audit/erasures/new", named);
    expect(other.status).toBe(400);
    expect(other.html).toContain('value="from ana@example.org"');
    expect(other.html).toContain('id="reference-fault"');
  });

  test("nobody reads another workspace's request", async () => {
    const { location } = await fixture.visitor.post("/audit/erasures/new", { address: "eve@example.org" });
    const path = location?.replace("/dashboard", "") ?? "";
    const other = await logIn(fixture.service.url, (await fixture.service.tenant()).apiKey);
    expect((await other.get(path)).status).toBe(404);
    expect((await other.get("/audit/erasures")).html).not.toContain(path);
  });
});
