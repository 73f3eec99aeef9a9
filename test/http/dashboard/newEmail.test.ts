import { describe, expect, test } from "bun:test";
import { markVerified } from "../../../src/commands/sender/manageSender.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { logIn, type Visitor, visitorOf } from "../../support/dashboard.ts";
import { dashboardFixture } from "../../support/dashboardFixture.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { SENDER, type Tenant } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const PATH = "/messages/new";
const mailIn = (html: string) => /name="mail" value="([^"]+)"/.exec(html)?.[1] ?? "";
const cookiesIn = (headers: Headers, { cookie }: Visitor) =>
  [cookie, ...headers.getSetCookie().map((set) => set.split(";")[0])].join("; ");
const nonceIn = (html: string) => /name="nonce" value="([^"]+)"/.exec(html)?.[1] ?? "";

describe("a new message in the dashboard", () => {
  const fixture = dashboardFixture(sqliteStore);
  const fields = () => ({
    nonce: crypto.randomUUID(),
    mail: "live",
    from: SENDER,
    to: "ana@example.com",
    subject: "Hello",
    text: "It works.\r\nReally.",
    html: "",
  });
  const verifiedDomain = async ({ workspaceId, call }: Tenant, domain: string) => {
    const { json } = await call("POST", "/api/v1/senders", { body: { domain } });
    const context = { ...systemCommandContext("test"), workspaceId };
    await markVerified(fixture.service.log, json.id, "operator", context);
  };
  const read = async (location: string | null) =>
    (await fixture.tenant.call("GET", `/api/v1/emails/${location?.split("/").at(-1)}`)).json;

  test("is offered where messages are listed, and has a sender that may send", async () => {
    expect((await fixture.visitor.get("/messages")).html).toContain(`href="/dashboard${PATH}"`);
    const { html } = await fixture.visitor.get(PATH);
    expect(html).toMatch(new RegExp(`<input id="from"[^>]* value="${SENDER}"`));
    expect(html).toContain(`<option value="${SENDER}"`);
    expect(html).not.toContain("No sender that may send was found");
  });

  test("has a sender that may send behind many newer ones that may not", async () => {
    const tenant = await fixture.service.tenant();
    for (let nth = 0; nth < 26; nth += 1)
      await tenant.call("POST", "/api/v1/senders", { body: { domain: `unverified${nth}.example` } });
    const { html } = await (await logIn(fixture.service.url, tenant.apiKey)).get(PATH);
    expect(html).toMatch(new RegExp(`<input id="from"[^>]* value="${SENDER}"`));
    expect(html).not.toContain("No sender that may send was found");
  });

  test("has an address that somebody has named before any of a newer domain", async () => {
    const tenant = await fixture.service.tenant();
    await verifiedDomain(tenant, "acme.example");
    const visitor = await logIn(fixture.service.url, tenant.apiKey);
    const isNamed = async () => (await visitor.get(PATH)).html.includes("verified domain (acme.example)");
    // Verified beside the service, which reads it a moment later.
    await until(isNamed, "the domain in the form");
    const { html } = await visitor.get(PATH);
    expect(html).toMatch(new RegExp(`<input id="from"[^>]* value="${SENDER}"`));
    expect(html.match(/<option value="[^"]*@[^"]*"/g)).toEqual([`<option value="${SENDER}"`]);
  });

  test("leaves the name to its writer where only a domain may send", async () => {
    const tenant = await fixture.service.tenant({ sender: null });
    await verifiedDomain(tenant, "acme.example");
    const visitor = await logIn(fixture.service.url, tenant.apiKey);
    const html = async () => (await visitor.get(PATH)).html;
    await until(async () => (await html()).includes('placeholder="name@acme.example"'), "the domain");
    expect(await html()).toMatch(/<input id="from"[^>]* value=""/);
    expect(await html()).not.toContain("No sender that may send was found");
    expect((await visitor.get("/messages")).html).toContain("Put an address that exists there in place of");
  });

  test("says so where no sender may send", async () => {
    const tenant = await fixture.service.tenant({ sender: null });
    const { html } = await (await logIn(fixture.service.url, tenant.apiKey)).get(PATH);
    expect(html).toContain("No sender that may send was found");
  });

  test("is not offered to a key that may not send", async () => {
    const { apiKey } = await fixture.tenant.withKey({ scopes: ["email:read"] });
    expect((await (await logIn(fixture.service.url, apiKey)).get("/messages")).html).not.toContain(PATH);
  });

  test("is sent as the API sends one, by the session's key, and a form submitted twice sends one", async () => {
    const { html } = await fixture.visitor.get(PATH);
    const form = { ...fields(), nonce: nonceIn(html) };
    const first = await fixture.visitor.post(PATH, form);
    expect(first.status).toBe(303);
    const again = await fixture.visitor.post(PATH, form);
    expect(again.location).toBe(first.location);
    const cookie = cookiesIn(again.headers, fixture.visitor);
    const page = await fixture.visitor.get(first.location?.replace("/dashboard", "") ?? "", { cookie });
    expect(page.html).toContain("This form had sent this message already.");
    expect(await read(first.location)).toMatchObject({
      from: SENDER,
      to: "ana@example.com",
      subject: "Hello",
      text: "It works.\nReally.",
      html: null,
    });
  });

  test("gets its text from the html if there is no other", async () => {
    const { location } = await fixture.visitor.post(PATH, { ...fields(), text: "", html: "<h1>Hi</h1>" });
    expect(await read(location)).toMatchObject({ html: "<h1>Hi</h1>", text: expect.stringMatching(/hi/i) });
  });

  test("goes at the time that its writer has chosen", async () => {
    const scheduled_at = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 16);
    const { location } = await fixture.visitor.post(PATH, { ...fields(), scheduled_at });
    expect(await read(location)).toMatchObject({
      status: "scheduled",
      scheduled_at: `${scheduled_at}:00.000Z`,
    });
  });

  test.each(["<", "\u{1F600}"])(
    "takes the longest html and text, however a form encodes %p",
    async (character) => {
      const longest = { html: character.repeat(500_000), text: character.repeat(200_000) };
      const { status, location } = await fixture.visitor.post(PATH, { ...fields(), ...longest });
      expect(status).toBe(303);
      const { html, text } = await read(location);
      expect(html === longest.html && text === longest.text).toBe(true);
    },
  );

  test("is refused beside the wrong field, and keeps what was typed", async () => {
    for (const [wrong, field, why] of [
      [{ from: "x@other.example" }, "from", "is not a sending address of this workspace"],
      [{ to: " nobody " }, "to", "must be one bare address"],
      [{ subject: "" }, "subject", "must have 1 to 998 characters"],
      [{ scheduled_at: "2001-01-31T12:00" }, "scheduled_at", "is in the past"],
      [{ text: "" }, "text", "Write a text, or HTML."],
    ] as const) {
      const { status, html } = await fixture.visitor.post(PATH, { ...fields(), text: "  Typed.", ...wrong });
      expect(status).toBeGreaterThanOrEqual(400);
      expect(html).toMatch(new RegExp(`id="${field}-fault">[^<]*${why}`));
      expect(html).not.toContain("/api/v1");
      if (field === "from") expect(html).toContain('under <a href="/dashboard/senders">Senders</a>.');
      if (field !== "text") expect(html).toContain("  Typed.");
      if (field === "to") expect(html).toContain('value="nobody"');
    }
  });

  test("is not sent live by a form of test mail whose session was switched meanwhile", async () => {
    const tenant = await fixture.service.tenant();
    const visitor = await logIn(fixture.service.url, tenant.apiKey);
    const { headers } = await visitor.post("/mail", { show: "test" });
    const tester = visitorOf(fixture.service.url, headers.get("set-cookie")?.split(";")[0] ?? "");
    const opened = (await tester.get(PATH)).html;
    expect(opened).toContain("No relay gets it");
    const form = { ...fields(), mail: mailIn(opened), nonce: nonceIn(opened) };
    for (const wrong of [{}, { text: "" }]) {
      const { status, html } = await visitor.post(PATH, { ...form, ...wrong });
      expect(status).toBe(409);
      expect(html).toContain("You now see live mail: submit it again to send it live.");
      expect(html).toContain('value="ana@example.com"');
      expect(nonceIn(html)).not.toBe(form.nonce);
      expect(mailIn(html)).toBe("live");
    }
    const toTest = await tester.post(PATH, fields());
    expect(toTest.status).toBe(409);
    expect(toTest.html).toContain("You now see test mail: submit it again to send it as test mail.");
    expect((await tester.post(PATH, form)).status).toBe(303);
    expect((await tenant.call("GET", "/api/v1/emails")).json.data).toEqual([]);
  });

  test("and a test send say that test mail does not count and is not suppressed", async () => {
    const template = await fixture.tenant.call("POST", "/api/v1/templates", { body: { name: "Order" } });
    const versions = `/templates/${template.json.id}/versions`;
    const body = { subject: "Order", text: "Thank you." };
    const version = await fixture.tenant.call("POST", `/api/v1${versions}`, { body });
    const { headers } = await fixture.visitor.post("/mail", { show: "test" });
    const tester = visitorOf(fixture.service.url, headers.get("set-cookie")?.split(";")[0] ?? "");
    for (const path of [PATH, `${versions}/${version.json.id}/test-send`]) {
      expect((await fixture.visitor.get(path)).html).toContain("it counts, it is logged");
      const { html } = await tester.get(path);
      expect(html).toContain("does not count towards the daily limit, and suppressions do not apply to it");
      expect(html).not.toContain("it counts");
    }
  });

  test("is sent once by a key that may not read it, which sees its id on the form", async () => {
    const { apiKey } = await fixture.tenant.withKey({ scopes: ["email:send"] });
    const visitor = await logIn(fixture.service.url, apiKey);
    const { html } = await visitor.get(PATH);
    expect(html).not.toContain('href="/dashboard/messages"');
    const form = { ...fields(), nonce: nonceIn(html) };
    for (const notice of ["The message was accepted.", "This form had sent this message already."]) {
      const { status, location, headers } = await visitor.post(PATH, form);
      expect([status, location]).toEqual([303, `/dashboard${PATH}`]);
      const shown = await visitor.get(PATH, { cookie: cookiesIn(headers, visitor) });
      expect(shown.status).toBe(200);
      const [, id = ""] = new RegExp(`${notice} Its id is ([^.]+)\\.`).exec(shown.html) ?? [];
      expect(await read(id)).toMatchObject({ id, to: "ana@example.com" });
    }
  });

  test("can be followed by another one from the same form, as after the browser's Back", async () => {
    const form = fields();
    await fixture.visitor.post(PATH, form);
    const again = await fixture.visitor.post(PATH, { ...form, subject: "Another" });
    expect(again.status).toBe(409);
    expect(again.html).toContain("This form has sent another message before");
    const nonce = nonceIn(again.html);
    const { location } = await fixture.visitor.post(PATH, { ...form, subject: "Another", nonce });
    expect(await read(location)).toMatchObject({ subject: "Another" });
  });

  test("says why a key that is bound to other senders may not send it", async () => {
    const body = { name: "bound", scopes: ["email:send"], senders: ["other@example.com"] };
    const { key } = (await fixture.tenant.call("POST", "/api/v1/api-keys", { body })).json;
    const visitor = await logIn(fixture.service.url, key);
    expect((await visitor.get(PATH)).html).toContain("No sender that may send was found");
    const { status, html } = await visitor.post(PATH, fields());
    expect(status).toBe(403);
    expect(html).toContain("This key is bound to other@example.com.");
  });
});
