import { describe, expect, test } from "bun:test";
import { logIn } from "../../support/dashboard.ts";
import { dashboardFixture } from "../../support/dashboardFixture.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message } from "../../support/tenants.ts";

describe.each(await testStores())("suppressions in the dashboard on $name", (store) => {
  const fixture = dashboardFixture(store);

  const list = async () => (await fixture.visitor.get("/suppressions")).html;

  test("an empty list says what puts addresses there", async () => {
    expect(await list()).toContain("No address is suppressed");
  });

  test("an address is added, found, and removed again", async () => {
    const added = await fixture.visitor.post("/suppressions", {
      address: "ana@example.com",
      note: "Asked by phone",
    });
    expect(added.location).toBe("/dashboard/suppressions");
    expect(await list()).toContain("ana@example.com");
    expect(await list()).toContain("Asked by phone");
    const found = await fixture.visitor.get("/suppressions?address=ana%40example.com");
    expect(found.html).toContain("/dashboard/suppressions/ana%40example.com/remove");
    const sent = await fixture.tenant.send("to-ana-0001", message());
    expect(sent.json).toMatchObject({ status: "suppressed" });
    const question = await fixture.visitor.get("/suppressions/ana%40example.com/remove");
    expect(question.html).toContain("Send mail to ana@example.com again?");
    const removed = await fixture.visitor.post("/suppressions/ana%40example.com/remove");
    expect(removed.status).toBe(303);
    const lifted = await fixture.visitor.get("/suppressions?address=ana%40example.com");
    expect(lifted.html).toContain("ana@example.com is not suppressed");
  });

  test("a form with faults is shown again with what was typed and what is wrong", async () => {
    const note = "n".repeat(501);
    const { status, html } = await fixture.visitor.post("/suppressions", { address: "ana at example", note });
    expect(status).toBe(422);
    expect(html).toContain('value="ana at example"');
    expect(html).toContain("The address ");
    expect(html).toContain("at most 500 characters");
    expect(html).toContain('aria-invalid="true"');
  });

  test("what is looked up and is no address is not taken for one that mail is sent to", async () => {
    const { html } = await fixture.visitor.get("/suppressions?address=zzz");
    expect(html).toContain("“zzz” is no address");
    expect(html).not.toContain("Mail to it is sent");
  });

  test("nobody sees or removes what another workspace has suppressed", async () => {
    await fixture.visitor.post("/suppressions", { address: "secret@example.com" });
    const other = await logIn(fixture.service.url, (await fixture.service.tenant()).apiKey);
    expect((await other.get("/suppressions")).html).not.toContain("secret@example.com");
    expect((await other.get("/suppressions/secret%40example.com/remove")).status).toBe(404);
    expect((await other.post("/suppressions/secret%40example.com/remove")).status).toBe(404);
  });

  test("a hostile note is text", async () => {
    await fixture.visitor.post("/suppressions", {
      address: "eve@example.com",
      note: "<script>alert(1)</script>",
    });
    expect(await list()).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
  });
});
