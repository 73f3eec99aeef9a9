import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { LOG_IN_LINK_MS, newLogInToken } from "../../../src/commands/apiKey/logInLink.ts";
import { revokeKey } from "../../../src/commands/apiKey/revokeApiKey.ts";
import { newWorkspace } from "../../../src/commands/workspace/manageWorkspace.ts";
import { SESSION_IDLE_MS_MAX, SESSION_MS_MAX } from "../../../src/http/dashboard/frame/sessions.ts";
import { apiKeyId, newApiKey } from "../../../src/kernel/crypto/apiKeyFormat.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { askDashboard, logIn, submitLogIn, visitorOf } from "../../support/dashboard.ts";
import { lastAcceptedMs } from "../../support/lastAcceptedMs.ts";
import { setLimits } from "../../support/limits.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { sqliteStore, testStores } from "../../support/stores/stores.ts";
import { startService, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

/** A revocation holds everywhere within this time. */
const REVOKED_MS_MAX = 1_000;

describe.each(await testStores())("logging in on $name", (store) => {
  const { service, tenant } = serviceFixture(store, { TRUSTED_PROXIES: "127.0.0.1,::1" });

  const tokenFor = (workspaceId = tenant.workspaceId, at = Date.now()) =>
    newLogInToken(service.log.keys, workspaceId, at);

  test("without a session every page leads to the log-in, and back from there", async () => {
    const { status, location } = await askDashboard(service.url, "/messages?q=to%3Aana");
    expect(status).toBe(303);
    expect(location).toBe("/dashboard/log-in?next=%2Fdashboard%2Fmessages%3Fq%3Dto%253Aana");
    const page = await askDashboard(service.url, (location ?? "").slice("/dashboard".length));
    expect(page.html).toContain('name="next" value="/dashboard/messages?q=to%3Aana"');
    const answer = await askDashboard(service.url, "/log-in", {
      method: "POST",
      body: new URLSearchParams({ secret: tenant.apiKey, next: "/dashboard/messages?q=to%3Aana" }),
    });
    expect(answer.location).toBe("/dashboard/messages?q=to%3Aana");
  });

  test.each([
    "https://evil.example/",
    "//evil.example",
    "/dashboard/../docs",
    "/dashboard/%2E./docs",
    "/dashboard/..?docs",
    "/dashboardx",
    "/dashboard/\\evil",
    "/",
  ])("never leads out of the dashboard: %s", async (next) => {
    const body = new URLSearchParams({ secret: tenant.apiKey, next });
    const { location } = await askDashboard(service.url, "/log-in", { method: "POST", body });
    expect(location).toBe("/dashboard");
  });

  test("an API key begins a session that no script reads and no other site's request carries", async () => {
    const { headers } = await submitLogIn(service.url, tenant.apiKey);
    const cookie = headers.get("set-cookie") ?? "";
    for (const rule of ["HttpOnly", "SameSite=Strict", "Path=/dashboard"]) expect(cookie).toContain(rule);
    expect(Number(/Max-Age=(\d+)/.exec(cookie)?.[1]) * 1_000).toBeWithin(
      SESSION_MS_MAX - 5_000,
      SESSION_MS_MAX + 1,
    );
    expect(cookie).not.toContain(tenant.apiKey);
    expect(cookie).not.toContain(tenant.keyId);
    const visitor = await logIn(service.url, tenant.apiKey);
    expect((await visitor.get("/")).status).toBe(200);
  });

  test("a link is made for a workspace by its id or, if no other has it, its name", async () => {
    const create = (name: string) => newWorkspace(service.log, name, systemCommandContext("test"));
    const [first, second] = [await create("Twice"), await create("Twice")];
    const only = await create("Once");
    const linkFor = (text: string) => service.app.app.dashboardLink(text);
    for (const text of [only, "Once"])
      expect(await linkFor(text)).toMatchObject({ workspaceId: only, workspaceName: "Once" });
    const workspaces = [first, second].map((id) => ({ id, name: "Twice" }));
    expect(await linkFor("Twice")).toEqual({ kind: "several", workspaces });
    for (const text of ["Never", crypto.randomUUID()])
      expect(await linkFor(text)).toEqual({ kind: "unknownWorkspace" });
  });

  test("a link logs in once, on whatever instance, and not when it is old or of nothing", async () => {
    const token = tokenFor();
    const racing = await Promise.all(
      [1, 2, 3].map(() => submitLogIn(service.url, `http://x/dashboard/log-in#${token}`)),
    );
    expect(racing.map(({ status }) => status).sort()).toEqual([303, 401, 401]);
    await service.restart();
    const secondUse = await submitLogIn(service.url, token);
    expect({
      status: secondUse.status,
      isExplained: secondUse.html.includes(
        "was used already. Make another one: bun run postledger dashboard link",
      ),
    }).toEqual({
      status: 401,
      isExplained: true,
    });
    const old = await submitLogIn(service.url, tokenFor(tenant.workspaceId, Date.now() - LOG_IN_LINK_MS));
    expect(old.html).toContain("The link has expired");
    expect((await submitLogIn(service.url, tokenFor(crypto.randomUUID()))).status).toBe(401);
    expect((await submitLogIn(service.url, `${token.slice(0, -1)}A`)).status).toBe(401);
  });

  test("a session goes on when the service is started again, and ends with its key within a second", async () => {
    const own = await tenant.withKey({});
    const visitor = await logIn(service.url, own.apiKey);
    await service.restart();
    const ask = () => askDashboard(service.url, "/", { headers: { cookie: visitor.cookie } });
    expect((await ask()).status).toBe(200);
    await revokeKey(service.log, own.keyId, systemCommandContext("test"));
    const lastMs = await lastAcceptedMs(async () => (await ask()).status === 200, "the end of the session");
    expect(lastMs).toBeLessThan(REVOKED_MS_MAX);
    expect((await ask()).location).toBe("/dashboard/log-in?ended=");
  });

  test("a session of a key that is bound to client addresses works from those alone", async () => {
    const body = { name: "office", scopes: ["email:read"], client_ranges: ["192.0.2.0/24"] };
    const { key } = (await tenant.call("POST", "/api/v1/api-keys", { body })).json;
    const from = (address: string) => ({ "x-forwarded-for": address });
    expect((await submitLogIn(service.url, key, from("198.51.100.1"))).status).toBe(401);
    const { headers } = await submitLogIn(service.url, key, from("192.0.2.1"));
    const visitor = visitorOf(service.url, headers.get("set-cookie")?.split(";")[0] ?? "");
    expect((await visitor.get("/messages", from("192.0.2.9"))).status).toBe(200);
    const elsewhere = await visitor.get("/messages", from("198.51.100.1"));
    expect(elsewhere.status).toBe(403);
    expect(elsewhere.html).toContain("not accepted from this client");
    expect((await visitor.get("/messages")).status).toBe(403);
  });

  test("the pages of a session count against its key's rate", async () => {
    const own = await service.tenant({ sender: null });
    const visitor = await logIn(service.url, own.apiKey);
    await setLimits(service.log, own.workspaceId, { keyRequestsPerSecond: 1 });
    const refused = async () => {
      const pages = await Promise.all([1, 2, 3, 4].map(() => visitor.get("/messages")));
      return pages.filter(({ status }) => status === 429);
    };
    await until(async () => (await refused()).length > 0, "the limit");
    const [page] = await refused();
    expect(page?.headers.get("retry-after")).toBe("1");
  });

  test("log-out ends a session, also for copies of its cookie", async () => {
    for (const secret of [tenant.apiKey, tokenFor()]) {
      const visitor = await logIn(service.url, secret);
      const out = await visitor.post("/log-out");
      expect(out.location).toBe("/dashboard/log-in?out=");
      expect(out.headers.get("set-cookie")).toContain("Max-Age=0");
      expect((await visitor.get("/")).status).toBe(303);
    }
  });

  test("log-out of a link's session revokes the key that was made for it", async () => {
    const visitor = await logIn(service.url, tokenFor());
    const keys = async () =>
      (await tenant.call("GET", "/api/v1/api-keys")).json.data.filter(
        ({ name, status }: { name: string; status: string }) =>
          name === "dashboard log-in" && status === "active",
      );
    const before = (await keys()).length;
    expect(before).toBeGreaterThan(0);
    await visitor.post("/log-out");
    expect((await keys()).length).toBe(before - 1);
  });

  test.each([
    ["an idle one", SESSION_IDLE_MS_MAX, 0],
    ["an old one", 0, SESSION_MS_MAX],
  ])("%s ends by time", async (_name, idleMs, ageMs) => {
    const now = Date.now();
    const session = {
      id: crypto.randomUUID(),
      keyId: apiKeyId(tenant.apiKey),
      hasOwnKey: false,
      startedAt: now - Math.max(idleMs, ageMs),
      seenAt: now - idleMs,
    };
    const { cookie } = await logIn(service.url, tenant.apiKey);
    const [name = ""] = cookie.split("=");
    const cookieOf = (contents: object) =>
      `${name}=${service.log.keys.encryptForBrowser("dashboard session", JSON.stringify(contents))}`;
    const ask = (contents: object) =>
      askDashboard(service.url, "/", { headers: { cookie: cookieOf(contents) } });
    expect((await ask(session)).status).toBe(303);
    expect((await ask({ ...session, startedAt: now - 60_000, seenAt: now - 60_000 })).status).toBe(200);
  });

  test.each([
    ["a key that nobody has", newApiKey().key, "does not know the key"],
    ["half a key", "pl_half", "Was it cut"],
    ["nothing", "", "Paste an API key"],
    ["something else", "let me in", "neither an API key nor a log-in link"],
  ])("%s is refused with advice, and is not shown again", async (_name, secret, message) => {
    const { status, html } = await submitLogIn(service.url, secret);
    expect(status).toBe(401);
    expect(html).toContain(message);
    if (secret.length > 8) expect(html).not.toContain(secret);
  });

  test("a log-in that another site sends is refused", async () => {
    const crossSite = await submitLogIn(service.url, tenant.apiKey, { "sec-fetch-site": "cross-site" });
    expect(crossSite.status).toBe(403);
    const otherOrigin = await submitLogIn(service.url, tenant.apiKey, { origin: "https://evil.example" });
    expect(otherOrigin.status).toBe(403);
    expect((await submitLogIn(service.url, tenant.apiKey, { origin: service.url })).status).toBe(303);
  });

  test("a link on another site is asked for once more from here, so that the cookie comes along", async () => {
    const first = await askDashboard(service.url, "/", { headers: { "sec-fetch-site": "cross-site" } });
    expect(first.status).toBe(200);
    expect(first.html).toContain('http-equiv="refresh"');
    const second = await askDashboard(service.url, "/", { headers: { "sec-fetch-site": "same-origin" } });
    expect(second.status).toBe(303);
  });
});

describe("log-ins that fail", () => {
  const FAILURES = 5;
  /** Enough for more than a thousand failures a minute. */
  const NETWORKS = 201;
  const from = (address: string) => ({ "x-forwarded-for": address });
  let service: TestService;
  beforeAll(async () => {
    service = await startService(sqliteStore, {
      AUTH_FAILURES_PER_MINUTE: String(FAILURES),
      TRUSTED_PROXIES: "127.0.0.1,::1",
    });
  });
  afterAll(() => service.remove());

  test("are limited for each client address together with those on the API, and a right secret gets in", async () => {
    const tenant = await service.tenant();
    const client = from("192.0.2.1");
    const failed = await fetch(`${service.url}/api/v1/workspace`, { headers: client });
    expect(failed.status).toBe(401);
    for (let nth = 1; nth < FAILURES; nth += 1)
      expect((await submitLogIn(service.url, newApiKey().key, client)).status).toBe(401);
    for (const secret of [newApiKey().key, "no link"]) {
      const refused = await submitLogIn(service.url, secret, client);
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(refused.html).toContain("Too many log-ins have failed");
    }
    const token = newLogInToken(service.log.keys, tenant.workspaceId, Date.now());
    for (const secret of [tenant.apiKey, token])
      expect((await submitLogIn(service.url, secret, client)).status).toBe(303);
  });

  test("from very many addresses keep nobody else out", async () => {
    const tenant = await service.tenant();
    const failures = Array.from({ length: FAILURES }, () => "no link");
    for (let network = 0; network < NETWORKS; network += 1) {
      const address = from(`2001:db8:0:${network.toString(16)}::1`);
      const answers = await Promise.all(failures.map((secret) => submitLogIn(service.url, secret, address)));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
    }
    expect((await submitLogIn(service.url, tenant.apiKey, from("198.51.100.7"))).status).toBe(303);
  });
});

describe("what stands behind the # of an address", () => {
  /** What the page's script does with it: what the field holds then, and whether the form is sent. */
  const opened = async (hash: string) => {
    const script = await Bun.file("src/http/dashboard/browser/logIn.js").text();
    const form = {
      elements: { secret: { value: "" } },
      isSent: false,
      submit() {
        form.isSent = true;
      },
    };
    const run = new Function("document", "location", "history", "addEventListener", script);
    const at = { hash, pathname: "/dashboard/log-in", search: "" };
    run({ querySelector: () => form }, at, { replaceState() {} }, () => {});
    return { secret: form.elements.secret.value, isSent: form.isSent };
  };

  test("logs in by itself where it is a link's, and asks first where it is a key, which may be somebody else's", async () => {
    expect(await opened("#sealed")).toEqual({ secret: "sealed", isSent: true });
    expect(await opened("#pl_of_somebody")).toEqual({ secret: "pl_of_somebody", isSent: false });
    expect(await opened("")).toEqual({ secret: "", isSent: false });
  });
});
