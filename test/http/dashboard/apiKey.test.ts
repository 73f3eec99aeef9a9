import { describe, expect, test } from "bun:test";
import { DAY_MS, HOUR_MS } from "../../../src/kernel/time.ts";
import { logIn, type PageAnswer, type Visitor, visitorOf } from "../../support/dashboard.ts";
import { dashboardFixture, logInAsOperator } from "../../support/dashboardFixture.ts";
import { runCommand } from "../../support/process/runCommand.ts";
import { callerOf } from "../../support/service.ts";
import { testStores } from "../../support/stores/stores.ts";
import { SENDER } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const SECRET = /data-copy="(pl_[0-9A-Za-z]{50})"/;
const ID = /href="\/dashboard\/api-keys\/([0-9A-Za-z]{12})">\s*I have copied it/;

const RENAMES_PER_DAY_MAX = 20;

describe.each(await testStores())("API keys in the dashboard on $name", (store) => {
  const fixture = dashboardFixture(store, {});

  const keyShownOn = ({ status, html }: PageAnswer) => {
    expect(status).toBe(200);
    return { secret: SECRET.exec(html)?.[1] ?? "", id: ID.exec(html)?.[1] ?? "" };
  };
  const create = async (fields: Readonly<Record<string, string>> = {}, visitor: Visitor = fixture.visitor) =>
    keyShownOn(await visitor.post("/api-keys/new", { name: "Shop", scopes: "email:read", ...fields }));
  const usage = (key: string) => callerOf(fixture.service.url, key).call("GET", "/api/v1/usage");

  test("a key is created, shown once, and may do what was ticked", async () => {
    const { secret, id } = await create({
      name: "<b>Shop</b>",
      expires_at: "2199-01-31T12:00",
      senders: "example.com\r\n",
      client_ranges: "127.0.0.0/8\r\n::1",
    });
    expect((await usage(secret)).status).toBe(200);
    expect((await fixture.tenant.call("GET", `/api/v1/api-keys/${id}`)).json).toMatchObject({
      scopes: ["email:read"],
      expires_at: "2199-01-31T12:00:00.000Z",
      senders: ["example.com"],
      client_ranges: ["127.0.0.0/8", "::1"],
      issued_by: fixture.tenant.keyId,
    });
    const { html } = await fixture.visitor.get(`/api-keys/${id}`);
    for (const text of ["&lt;b&gt;Shop&lt;/b&gt;", "email:read", "127.0.0.0/8", fixture.tenant.keyId])
      expect(html).toContain(text);
    expect(html).toContain(`href="/dashboard/messages?q=apikey%3A${id}"`);
    expect(html).not.toContain(secret);
    expect((await fixture.visitor.get("/api-keys")).html).toContain("&lt;b&gt;Shop&lt;/b&gt;");
  });

  test("a new key that may send from what the workspace lacks says so", async () => {
    const fields = { name: "Shop", scopes: "email:send" };
    const lacking = { ...fields, senders: `${SENDER}\nnone.example\nada@none.example` };
    const { html } = await fixture.visitor.post("/api-keys/new", lacking);
    expect(html).toMatch(/<code>none\.example<\/code> is not a sender of this workspace yet/);
    expect(html).toMatch(/<code>ada@none\.example<\/code> is not a sender of this workspace yet/);
    expect(html).not.toContain(`<code>${SENDER}</code> is not a sender`);
    const id = ID.exec(html)?.[1];
    const rotated = await fixture.visitor.post(`/api-keys/${id}/rotate`);
    expect(rotated.html).toContain("is not a sender of this workspace yet");
    expect((await fixture.visitor.post("/api-keys/new", fields)).html).not.toContain("is not a sender");
  });

  test("a form with faults is shown again with what was typed, and no key is made", async () => {
    const { status, html } = await fixture.visitor.post("/api-keys/new", {
      name: "Faulty",
      expires_at: "2001-01-31T12:00",
    });
    expect(status).toBe(400);
    expect(html).toContain('value="Faulty"');
    expect((await fixture.visitor.post("/api-keys/new", { name: "Faulty" })).html).toContain(
      "Choose at least one scope.",
    );
    const range = { name: "Faulty", scopes: "email:read", client_ranges: "here" };
    expect((await fixture.visitor.post("/api-keys/new", range)).html).toContain(
      "It must be an IP address, or a range",
    );
    expect((await fixture.visitor.get("/api-keys")).html).not.toContain("Faulty");
  });

  test("a key that ends creates none that lasts longer, and says so", async () => {
    const ending = await fixture.tenant.withKey({ expiresAt: Date.now() + HOUR_MS });
    const other = await logIn(fixture.service.url, ending.apiKey);
    const { html } = await other.get("/api-keys/new");
    const [above = ""] = html.split('id="name"');
    expect(above).toMatch(/A key that you create here stops working at <time datetime="[^"]+"/);
    const { workspaceId } = fixture.tenant;
    expect(above).toMatch(
      new RegExp(`data-copy="bun run postledger api-key create [^<>"]*--workspace ${workspaceId} [^<>"]*"`),
    );
    const refused = await other.post("/api-keys/new", { name: "Lasting", scopes: "email:read" });
    expect(refused.status).toBe(400);
    expect(refused.html).toContain("It must be given and not be later than");
    const rotated = await other.post(`/api-keys/${fixture.tenant.keyId}/rotate`);
    expect(rotated.status).toBe(400);
    expect(rotated.html).toContain("The new key would last longer");
  });

  test("the button of a log-in by link says until when a key is valid, also once an earlier day was typed", async () => {
    const operator = await logInAsOperator(fixture.service, fixture.tenant);
    const dayOf = (time: number | string) =>
      new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" }).format(new Date(time));
    const button = async (answer: Promise<PageAnswer>) =>
      /<button type="submit" class="primary">\s*Create(.*?)<\/button>/s
        .exec((await answer).html)?.[1]
        ?.replace(/<[^>]*>/g, "");
    const inAWeek = Date.now() + 7 * DAY_MS;
    expect([dayOf(inAWeek - HOUR_MS), dayOf(inAWeek)].map((day) => `, valid until ${day}`)).toContain(
      (await button(operator.get("/api-keys/new"))) ?? "",
    );
    const typed = { name: "Shop", expires_at: "2001-01-31T12:00" };
    expect(await button(operator.post("/api-keys/new", typed))).toBe(`, valid until ${dayOf("2001-01-31")}`);
    expect(await button(fixture.visitor.get("/api-keys/new"))).toBe("");
  });

  test("offers the scopes that its own key holds, and refuses others", async () => {
    const narrow = await fixture.tenant.withKey({ scopes: ["workspace:manage", "email:read"] });
    const other = await logIn(fixture.service.url, narrow.apiKey);
    const { html } = await other.get("/api-keys/new");
    expect(html).toContain('value="email:read"');
    expect(html).not.toContain('value="email:send"');
    const refused = await other.post("/api-keys/new", { name: "Wide", scopes: "email:send" });
    expect(refused.status).toBe(403);
    expect(refused.html).toContain("This key does not hold email:send");
  });

  test("a key is renamed, with the rules for names of new ones", async () => {
    const { id } = await create();
    const at = `/api-keys/${id}/rename`;
    expect((await fixture.visitor.get(`/api-keys/${id}`)).html).toContain(`href="/dashboard${at}"`);
    expect((await fixture.visitor.get(at)).html).toMatch(/<input id="name"[^>]* value="Shop"/);
    const { location } = await fixture.visitor.post(at, { name: " Shop, production " });
    expect(location).toBe(`/dashboard/api-keys/${id}`);
    expect((await fixture.visitor.get("/api-keys")).html).toContain("Shop, production");
    const refused = await fixture.visitor.post(at, { name: "" });
    expect(refused.status).toBe(422);
    expect(refused.html).toContain("A name must have visible characters");
    const other = await logIn(fixture.service.url, (await fixture.service.tenant()).apiKey);
    expect((await other.get(at)).status).toBe(404);
    expect((await other.post(at, { name: "Mine" })).status).toBe(404);
  });

  test("a rename beyond the day's limit says when the next one is possible", async () => {
    const { id } = await create();
    const rename = (name: string) => fixture.visitor.post(`/api-keys/${id}/rename`, { name });
    for (let nth = 0; nth < RENAMES_PER_DAY_MAX; nth += 1)
      expect((await rename(`name ${nth}`)).location).toBe(`/dashboard/api-keys/${id}`);
    const refused = await rename("One more");
    expect(refused.status).toBe(429);
    expect(refused.html).toMatch(/Nothing was changed\. You can in \d+ (hours|day)/);
  });

  test("a key is rotated: the new one opens, and the old one ends after the overlap", async () => {
    const old = await create();
    expect((await fixture.visitor.get(`/api-keys/${old.id}/rotate`)).html).toContain(
      "The old key goes on for",
    );
    const rotated = keyShownOn(
      await fixture.visitor.post(`/api-keys/${old.id}/rotate`, { overlap_seconds: "0" }),
    );
    expect((await usage(rotated.secret)).status).toBe(200);
    expect((await usage(old.secret)).status).toBe(401);
    expect((await fixture.visitor.get(`/api-keys/${rotated.id}`)).html).toMatch(
      new RegExp(`Replaces</dt><dd><a href="/dashboard/api-keys/${old.id}">Shop</a> <code[^>]*>${old.id}<`),
    );
    expect((await fixture.visitor.post(`/api-keys/${old.id}/rotate`)).status).toBe(409);
    expect(
      (await fixture.visitor.post(`/api-keys/${rotated.id}/rotate`, { overlap_seconds: "-1" })).status,
    ).toBe(400);
  });

  test("a key is revoked after one question, with the keys that came of it where that is wanted", async () => {
    const parent = await create({ scopes: "workspace:manage" });
    const child = await create(
      { scopes: "workspace:manage" },
      await logIn(fixture.service.url, parent.secret),
    );
    const opens = async ({ secret }: { secret: string }) =>
      (await callerOf(fixture.service.url, secret).call("GET", "/api/v1/workspace")).status;
    expect((await fixture.visitor.get(`/api-keys/${parent.id}/revoke`)).html).toContain(
      "Also revoke the 1 key",
    );
    const revoked = await fixture.visitor.post(`/api-keys/${parent.id}/revoke`);
    expect(revoked.location).toBe("/dashboard/api-keys");
    expect([await opens(parent), await opens(child)]).toEqual([401, 200]);
    await fixture.visitor.post(`/api-keys/${parent.id}/revoke`, { with_children: "true" });
    expect(await opens(child)).toBe(401);
  });

  test("nobody sees or changes another workspace's key", async () => {
    const { id, secret } = await create();
    const other = await logIn(fixture.service.url, (await fixture.service.tenant()).apiKey);
    expect((await other.get("/api-keys")).html).not.toContain(id);
    for (const page of ["", "/rotate", "/revoke"])
      expect((await other.get(`/api-keys/${id}${page}`)).status).toBe(404);
    for (const action of ["rotate", "revoke"])
      expect((await other.post(`/api-keys/${id}/${action}`)).status).toBe(404);
    expect((await usage(secret)).status).toBe(200);
  });

  test("keys in use that end soon, or have ended, are warned of on their page, the overview and by doctor", async () => {
    const { service } = fixture;
    const tenant = await service.tenant();
    const now = Date.now();
    const keyUntil = async (expiresAt: number | null) => (await tenant.withKey({ expiresAt })).keyId;
    const [soon, ended, unused, later, lasting] = await Promise.all(
      [now + DAY_MS, now - DAY_MS, now + DAY_MS, now + 30 * DAY_MS, null].map(keyUntil),
    );
    const operator = await logInAsOperator(service, tenant);
    const listed = (await tenant.call("GET", "/api/v1/api-keys")).json.data;
    const { id: logInKey } = listed.find(({ name }: { name: string }) => name === "dashboard log-in");
    for (const id of [soon, ended, later, lasting, logInKey]) service.log.apiKeyLastUse.note(id ?? "", now);
    await service.log.apiKeyLastUse.write("test");
    const noticeOn = async () =>
      /<div class="notice">\s*<p>What uses these keys fails.*?<\/ul>/s.exec(
        (await operator.get("/api-keys")).html,
      )?.[0] ?? "";
    await until(async () => (await noticeOn()).includes("<li>"), "the keys' use to be seen");
    const keysIn = (html: string) =>
      [...html.matchAll(/href="\/dashboard\/api-keys\/(\w+)"/g)].map(([, id]) => id);
    const notice = await noticeOn();
    expect(keysIn(notice)).toEqual([ended, soon]);
    expect(notice).toMatch(/expired at <time .*expires at <time /s);
    const health = (await operator.get("/")).html.split('id="health"')[1];
    expect(health).toMatch(/<dt>API keys<\/dt><dd><span class="status waiting">warning<\/span>/);
    expect(health).toContain("2 keys in use: test expired at <time");
    const { out } = await runCommand(["doctor"], service.app.dataDir, store.env);
    const check = out.split("\n").find((line) => line.startsWith("warning  API keys: ")) ?? "";
    expect(check).toContain(`test (${soon} of workspace ${tenant.workspaceId}) expires at `);
    expect(check).toContain(`test (${ended} of workspace ${tenant.workspaceId}) expired at `);
    for (const id of [unused, later, lasting, logInKey]) expect(check).not.toContain(id ?? "none");
    // Not to a key that may not see keys, and not to another workspace.
    const reader = await logIn(service.url, (await tenant.withKey({ scopes: ["email:read"] })).apiKey);
    expect((await reader.get("/")).html).not.toContain("<dt>API keys</dt>");
    const stranger = await logIn(service.url, (await service.tenant()).apiKey);
    expect((await stranger.get("/")).html).not.toContain("<dt>API keys</dt>");
  }, 60_000);

  test("a form creates or rotates once, however often it is sent, and leads to the key then", async () => {
    const { visitor, tenant } = fixture;
    const countKeys = async () => (await tenant.call("GET", "/api/v1/api-keys?limit=100")).json.data.length;
    const fields = { form_token: await visitor.formToken(), name: "Once", scopes: "email:read" };
    const before = await countKeys();
    const answers = await Promise.all([
      visitor.post("/api-keys/new", fields),
      visitor.post("/api-keys/new", fields),
    ]);
    answers.push(await visitor.post("/api-keys/new", { ...fields, name: "Once more" }));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409]);
    const [made, ...repeats] = answers.toSorted((one, other) => one.status - other.status);
    const { id } = keyShownOn(made as PageAnswer);
    for (const { html } of repeats) {
      expect(html).toContain("This was done already");
      expect(html).toContain("A secret is shown only once.");
      expect(html).toContain(`href="/dashboard/api-keys/${id}"`);
      expect(html).not.toMatch(SECRET);
    }
    expect(await countKeys()).toBe(before + 1);

    const rotation = { form_token: await visitor.formToken(), overlap_seconds: "0" };
    const rotated = keyShownOn(await visitor.post(`/api-keys/${id}/rotate`, rotation));
    // Another instance knows it too, because the log has it.
    await fixture.service.restart();
    const elsewhere = visitorOf(fixture.service.url, visitor.cookie);
    const again = await elsewhere.post(`/api-keys/${id}/rotate`, rotation);
    expect([again.status, again.html.includes("This was done already")]).toEqual([409, true]);
    expect(again.html).toContain(`href="/dashboard/api-keys/${rotated.id}"`);
    expect(await countKeys()).toBe(before + 2);
    expect((await usage(rotated.secret)).status).toBe(200);
  });
});
