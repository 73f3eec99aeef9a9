import { describe, expect, test } from "bun:test";
import { importedAddresses } from "../../../src/cli/suppression/importedAddresses.ts";
import { logIn } from "../../support/dashboard.ts";
import { dashboardFixture } from "../../support/dashboardFixture.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { message } from "../../support/tenants.ts";

describe("suppressions in the dashboard", () => {
  const fixture = dashboardFixture(sqliteStore);

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

  test("a file has them all, also those beyond a page", async () => {
    const own = await fixture.service.tenant();
    const visitor = await logIn(fixture.service.url, own.apiKey);
    const addresses = Array.from({ length: 120 }, (_, index) => `a${index}@example.com`);
    await Promise.all(addresses.map((address) => fixture.service.suppress(own.workspaceId, address)));
    await visitor.post("/suppressions", { address: "eve@example.com", note: "=HYPERLINK(1), by phone" });
    const { headers, html: text } = await visitor.get("/suppressions.csv");
    expect(headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(headers.get("content-disposition")).toMatch(
      /^attachment; filename="suppressions-\d{4}-\d\d-\d\d\.csv"$/,
    );
    const [names, first, ...others] = text.trimEnd().split("\r\n");
    expect(names).toBe("address,reason,note,email_id,created_at");
    expect(first).toMatch(/^eve@example\.com,manual,"'=HYPERLINK\(1\), by phone",,\d{4}-.+Z$/);
    expect(others.map((line) => line.split(",")[0]).toSorted()).toEqual(addresses.toSorted());
    for (const line of others) expect(line).toMatch(/^a\d+@example\.com,bounce,,[0-9a-f-]{36},\d{4}-.+Z$/);
    const { html } = await visitor.get("/suppressions?reason=manual");
    expect(html).toContain("/dashboard/suppressions.csv?reason=manual&amp;shown=");
    // Who looks up one address gets no link to the file of all.
    const { html: one } = await visitor.get("/suppressions?address=eve%40example.com");
    expect(one).not.toContain("suppressions.csv");
    const { html: manual } = await visitor.get("/suppressions.csv?reason=manual");
    expect(manual.trimEnd().split("\r\n")).toEqual([names ?? "", first ?? ""]);
  });

  test("a file is read back by an import, also where an address or a note looks like a formula", async () => {
    const own = await fixture.service.tenant();
    const visitor = await logIn(fixture.service.url, own.apiKey);
    const locals = ["+ana", "=x", "-bo", "|p", "'eve", "'=y", "o'neill"];
    const notes = Object.fromEntries(locals.map((local) => [`${local}@example.com`, `${local}; =1+1`]));
    for (const [address, note] of Object.entries(notes))
      await visitor.post("/suppressions", { address, note });
    const { html: text } = await visitor.get("/suppressions.csv");
    expect(text).toContain("\r\n'+ana@example.com,");
    const found = importedAddresses(text)?.addresses ?? [];
    expect(Object.fromEntries(found.map(({ address, note }) => [address.sent, note]))).toEqual(notes);
  });

  test("a hostile note is text", async () => {
    await fixture.visitor.post("/suppressions", {
      address: "eve@example.com",
      note: "<script>alert(1)</script>",
    });
    expect(await list()).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
  });
});
