import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { issueKey } from "../../../src/commands/apiKey/issueApiKey.ts";
import { revokeKey } from "../../../src/commands/apiKey/revokeApiKey.ts";
import type { Scope } from "../../../src/domain/apiKey/scopes.ts";
import { personOf } from "../../../src/http/dashboard/login/loginProxy.ts";
import { Problem } from "../../../src/http/server/problem.ts";
import { openRequestContext, type ServerContext } from "../../../src/http/server/requestContext.ts";
import { parseAddressRange } from "../../../src/kernel/network/clientIp.ts";
import { HOUR_MS } from "../../../src/kernel/time.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { askDashboard, logIn, type PageAnswer, submitLogIn, visitorOf } from "../../support/dashboard.ts";
import { lastAcceptedMs } from "../../support/lastAcceptedMs.ts";
import { parseAnswer, rawRequest } from "../../support/servers/rawRequest.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { sqliteStore, testStores } from "../../support/stores/stores.ts";
import { stub } from "../../support/stub.ts";
import { startService, type Tenant, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

/** The tests are the proxy, from this address. */
const PROXY = "127.0.0.1";
/** Somebody who has come round the proxy. */
const STRANGER = "127.0.0.2";
const SETTINGS = { LOGIN_PROXY_HEADER: "X-Forwarded-Email", LOGIN_PROXIES: PROXY };
const SECRET = "known-to-the-proxy-alone";

const OFFERED_OF_WORKSPACE_MAX = 5;
/** A revocation holds everywhere within this time. */
const REVOKED_MS_MAX = 1_000;

const as = (person: string) => ({ "x-forwarded-email": person });
const cookieOf = ({ headers }: PageAnswer) => headers.get("set-cookie")?.split(";")[0] ?? "";
const offeredOn = ({ html }: PageAnswer) =>
  [...html.matchAll(/name="key_id" value="(\w+)"/g)].map(([, id]) => id);

interface KeyOptions {
  readonly name?: string;
  readonly scopes?: readonly Scope[];
  readonly expiresAt?: number;
  readonly clientRanges?: readonly string[];
}

/** The id of a new key of a person. */
async function keyFor(
  service: TestService,
  person: string,
  { workspaceId }: Pick<Tenant, "workspaceId">,
  { name = "mine", scopes = ["email:read"], expiresAt, ...bound }: KeyOptions = {},
): Promise<string> {
  const wanted = { workspaceId, name, scopes, expiresAt: expiresAt ?? null, person, ...bound };
  const issued = await issueKey(service.log, wanted, systemCommandContext("test"));
  return issued?.id ?? "";
}

function enter(service: TestService, keyId: string, headers: Readonly<Record<string, string>>) {
  const body = new URLSearchParams({ key_id: keyId });
  return askDashboard(service.url, "/log-in", { method: "POST", body, headers });
}

/** A page's answer to exactly these header lines. */
async function askRaw(
  { url }: TestService,
  path: string,
  lines: readonly (string | Uint8Array)[],
  from = PROXY,
): Promise<PageAnswer> {
  const head = [`GET /dashboard${path} HTTP/1.1`, "Host: localhost", "Connection: close"];
  const { text, ...answer } = parseAnswer(await rawRequest(url, [...head, ...lines, "", ""], from));
  return { ...answer, html: text, location: answer.headers.get("location") };
}

describe.each(await testStores())("logging in through a proxy on $name", (store) => {
  const { service, tenant } = serviceFixture(store, SETTINGS);
  let persons = 0;

  const newPerson = () => {
    persons += 1;
    return `ana${persons}@${tenant.workspaceId}.example`;
  };
  const visit = (person: string, path = "/log-in") =>
    askDashboard(service.url, path, { headers: as(person) });
  /** A person with one key, and the Cookie header of their session. */
  const somebodyIn = async (options: KeyOptions = {}) => {
    const person = newPerson();
    const keyId = await keyFor(service, person, tenant, options);
    const answer = await enter(service, keyId, as(person));
    expect(answer.status).toBe(303);
    return { person, keyId, cookie: cookieOf(answer) };
  };

  test("somebody is offered their usable keys in all workspaces, newest first, and a click logs in", async () => {
    const [person, other] = [newPerson(), await service.tenant()];
    const first = await keyFor(service, person, tenant, { name: "<b>support</b>" });
    const second = await keyFor(service, person, other);
    await keyFor(service, person, other, { expiresAt: Date.now() - 1 });
    await revokeKey(service.log, await keyFor(service, person, tenant), systemCommandContext("test"));
    await keyFor(service, newPerson(), tenant);
    const page = await visit(person.toUpperCase());
    expect(offeredOn(page)).toEqual([second, first]);
    expect(page.html).toContain(`Continue as <strong>${person}</strong>`);
    expect(page.html).toContain("&lt;b&gt;support&lt;/b&gt;");
    expect(page.headers.has("set-cookie")).toBeFalse();
    const visitor = visitorOf(service.url, cookieOf(await enter(service, first, as(person))));
    const keys = await visitor.get("/", as(person));
    expect(keys.status).toBe(200);
    expect(keys.html).toContain(person);
  });

  test("one workspace cannot crowd out the keys of another", async () => {
    const [person, other] = [newPerson(), await service.tenant()];
    const own = await keyFor(service, person, tenant);
    for (let nth = 0; nth <= OFFERED_OF_WORKSPACE_MAX; nth += 1) await keyFor(service, person, other);
    const offered = offeredOn(await visit(person));
    expect(offered).toHaveLength(OFFERED_OF_WORKSPACE_MAX + 1);
    expect(offered.at(-1)).toBe(own);
  });

  test("somebody without a key is told what to ask for, and nothing about others", async () => {
    const [person, neighbour] = ["o'hara", newPerson()];
    await keyFor(service, neighbour, tenant);
    const { status, html } = await visit(person);
    expect(status).toBe(200);
    expect(html).toContain("No key belongs to <strong>o&#39;hara</strong>");
    expect(html).toContain(
      "bun run postledger api-key create --person &#39;o&#39;\\&#39;&#39;hara&#39; --scopes email:read",
    );
    for (const text of [neighbour, tenant.workspaceId, "key_id"]) expect(html).not.toContain(text);
    expect(html).toContain('name="secret"');
  });

  test("a session ends when its proxy names somebody else or nobody, and when it comes round it", async () => {
    const ask = (cookie: string, headers: Readonly<Record<string, string>>) =>
      askDashboard(service.url, "/", { headers: { cookie, ...headers } });
    const fromElsewhere = (cookie: string, person: string) =>
      askRaw(service, "", [`Cookie: ${cookie}`, `X-Forwarded-Email: ${person}`], STRANGER);
    const endings: readonly ((cookie: string, person: string) => Promise<PageAnswer>)[] = [
      (cookie) => ask(cookie, as("ben@example.com")),
      (cookie) => ask(cookie, {}),
      fromElsewhere,
    ];
    for (const end of endings) {
      const { person, cookie } = await somebodyIn();
      expect((await ask(cookie, as(person.toUpperCase()))).status).toBe(200);
      expect((await end(cookie, person)).location).toBe("/dashboard/log-in?ended=");
      expect((await ask(cookie, as(person))).status).toBe(303);
      const part = await ask(cookie, { ...as(person), "hx-request": "true" });
      expect(part.status).toBe(401);
    }
  });

  test("a session that a key or a link has begun is its person's too, if the proxy named one", async () => {
    const answer = await submitLogIn(service.url, tenant.apiKey, as("ana"));
    const visitor = visitorOf(service.url, cookieOf(answer));
    expect((await visitor.get("/", as("ana"))).status).toBe(200);
    expect((await visitor.get("/", as("ben"))).status).toBe(303);
    const unnamed = await logIn(service.url, tenant.apiKey);
    for (const headers of [{}, as("ben")]) expect((await unnamed.get("/", headers)).status).toBe(200);
  });

  test("a header from elsewhere than the proxy names nobody", async () => {
    const person = newPerson();
    const keyId = await keyFor(service, person, tenant);
    const named = `X-Forwarded-Email: ${person}`;
    expect(offeredOn(await askRaw(service, "/log-in", [named]))).toEqual([keyId]);
    const forwarded = `X-Forwarded-For: ${PROXY}`;
    const page = await askRaw(service, "/log-in", [named, forwarded], STRANGER);
    expect(page.status).toBe(200);
    for (const text of [person, "key_id"]) expect(page.html).not.toContain(text);
    const body = `key_id=${keyId}`;
    const form = [
      "POST /dashboard/log-in HTTP/1.1",
      ...["Host: localhost", "Connection: close", "Content-Type: application/x-www-form-urlencoded"],
      ...[`Content-Length: ${body.length}`, named, forwarded, "", body],
    ];
    const refused = parseAnswer(await rawRequest(service.url, form, STRANGER));
    expect(refused.status).toBe(401);
    expect(refused.headers.has("set-cookie")).toBeFalse();
    expect(refused.text).toContain("did not say who you are");
  });

  test("a key of somebody else, of nobody, or that has ended lets nobody in", async () => {
    const person = newPerson();
    const ended = await keyFor(service, person, tenant, { expiresAt: Date.now() - 1 });
    const revoked = await keyFor(service, person, tenant);
    await revokeKey(service.log, revoked, systemCommandContext("test"));
    const others = await keyFor(service, newPerson(), tenant);
    for (const keyId of [ended, revoked, others, tenant.keyId, "abcdefghijkl", "../email", ""]) {
      const answer = await enter(service, keyId, as(person));
      expect({ keyId, status: answer.status }).toEqual({ keyId, status: 401 });
      expect(answer.html).toContain("no longer yours");
      expect(answer.headers.has("set-cookie")).toBeFalse();
    }
    const own = await keyFor(service, person, tenant);
    const crossSite = await enter(service, own, { ...as(person), "sec-fetch-site": "cross-site" });
    expect(crossSite.status).toBe(403);
    const elsewhere = await keyFor(service, person, tenant, { clientRanges: ["192.0.2.0/24"] });
    const bound = await enter(service, elsewhere, as(person));
    expect(bound).toMatchObject({ status: 401, html: expect.stringContaining("not accepted from this") });
  });

  test("a revoked key ends its session within a second", async () => {
    const { person, keyId, cookie } = await somebodyIn();
    await revokeKey(service.log, keyId, systemCommandContext("test"));
    const isIn = async () => (await visitorOf(service.url, cookie).get("/", as(person))).status === 200;
    expect(await lastAcceptedMs(isIn, "the end of the session")).toBeLessThan(REVOKED_MS_MAX);
    expect(offeredOn(await visit(person))).toEqual([]);
  });

  test("a log-out ends the session, and does not log in again by itself", async () => {
    const { person, cookie } = await somebodyIn();
    const out = await askDashboard(service.url, "/", { headers: { cookie, ...as(person) } });
    const [, token = ""] = /name="form_token" value="([^"]+)"/.exec(out.html) ?? [];
    const answer = await askDashboard(service.url, "/log-out", {
      method: "POST",
      body: new URLSearchParams({ form_token: token }),
      headers: { cookie, ...as(person) },
    });
    expect(answer.location).toBe("/dashboard/log-in?out=");
    expect(answer.headers.get("set-cookie")).toContain("Max-Age=0");
    const page = await visit(person, "/log-in?out=");
    expect(page.html).toContain("You are logged out.");
    expect(page.headers.has("set-cookie")).toBeFalse();
    expect((await visit(person, "/")).location).toBe("/dashboard/log-in");
    const copy = await askDashboard(service.url, "/", { headers: { cookie, ...as(person) } });
    expect(copy.status).toBe(303);
  });

  test("the person of a key is told where it is listed, and where it has acted", async () => {
    const { person, keyId, cookie } = await somebodyIn({
      name: "support",
      scopes: ["email:read", "workspace:manage"],
    });
    const get = (path: string) => askDashboard(service.url, path, { headers: { cookie, ...as(person) } });
    const { html } = await get("/api-keys/new");
    const [, token = ""] = /name="form_token" value="([^"]+)"/.exec(html) ?? [];
    expect(html).toContain('name="person"');
    const create = () =>
      askDashboard(service.url, "/api-keys/new", {
        method: "POST",
        body: new URLSearchParams({ form_token: token, name: "ben", scopes: "email:read", person: "Ben" }),
        headers: { cookie, ...as(person) },
      });
    const { html: made } = await create();
    expect(made).toContain("<strong>ben</strong> logs in with it");
    expect(made).not.toContain("pl_");
    expect((await create()).location).toMatch(/^\/dashboard\/api-keys\/\w{12}$/);
    expect((await get("/api-keys")).html).toContain(`support</span><span class="clip soft">${person}</span>`);
    expect((await get(`/api-keys/${keyId}`)).html).not.toContain("Rotate");
    const audited = async () => (await get("/audit")).html.includes(`support (${person})`);
    await until(audited, "the entry of the audit log");
  });
});

describe("the header of a login proxy", () => {
  const { service, tenant } = serviceFixture(sqliteStore, SETTINGS);
  beforeAll(async () => {
    for (const person of ["ana", "ben"]) await keyFor(service, person, tenant);
  });

  test.each([
    ["sent twice", ["X-Forwarded-Email: ana", "x-forwarded-email: ben"]],
    ["sent twice, first empty", ["X-Forwarded-Email:", "X-Forwarded-Email: ana"]],
    ["with two names", ["X-Forwarded-Email: ana,ben"]],
    ["with other than ASCII", [Buffer.from("X-Forwarded-Email: añа")]],
    ["with a control character", ["X-Forwarded-Email: ana\tben"]],
    ["too long", [`X-Forwarded-Email: ${"a".repeat(321)}`]],
  ])("is refused %s", async (_, lines) => {
    for (const path of ["", "/log-in", "/messages"]) {
      const { status, html } = await askRaw(service, path, lines);
      expect(status).toBe(403);
      expect(html).not.toContain("Go back, change it");
      expect(html).toContain("header X-Forwarded-Email does not say who you are: it must name one person");
      expect(html).not.toContain("key_id");
    }
  });

  test.each([
    ["empty", ["X-Forwarded-Email:"]],
    ["of another spelling", ["X_Forwarded_Email: ana"]],
    ["folded", ["X-Other: b", " X-Forwarded-Email: ana"]],
    ["behind a line feed", ["X-Other: b\nX-Forwarded-Email: ana"]],
    ["behind a carriage return", ["X-Other: b\rX-Forwarded-Email: ana"]],
  ])("names nobody %s", async (_, lines) => {
    const raw = await rawRequest(service.url, [
      "GET /dashboard/log-in HTTP/1.1",
      ...["Host: localhost", "Connection: close", ...lines, "", ""],
    ]).catch(() => "");
    expect(raw).not.toContain("key_id");
  });

  test("opens nothing of the API", async () => {
    const answer = await fetch(`${service.url}/api/v1/emails`, { headers: as("ana") });
    expect(answer.status).toBe(401);
  });

  test("opens a paused workspace, which says that it is paused", async () => {
    const paused = await service.tenant();
    const keyId = await keyFor(service, "ana", paused);
    await service.pause(paused.workspaceId);
    const visitor = visitorOf(service.url, cookieOf(await enter(service, keyId, as("ana"))));
    const isPaused = async () => (await visitor.get("/", as("ana"))).html.includes("Sending has been paused");
    await until(isPaused, "the notice");
  });

  test("lets a live stream end with the session that it was opened in", async () => {
    const keyId = await keyFor(service, "ana", tenant, { expiresAt: Date.now() + HOUR_MS });
    const cookie = cookieOf(await enter(service, keyId, as("ana")));
    const headers = { cookie, ...as("ana") };
    const stream = await fetch(`${service.url}/dashboard/live`, { headers });
    expect(stream.status).toBe(200);
    const ended = stream.text();
    await visitorOf(service.url, cookie).get("/", as("ben"));
    expect(await ended).toStartWith(": live");
    const again = await fetch(`${service.url}/dashboard/live`, { headers, redirect: "manual" });
    expect(again.status).toBe(303);
  });
});

test("somebody whose connection has ended meanwhile is not taken for nobody, which would end their session", () => {
  const request = new Request("http://localhost/dashboard", { headers: as("ana") });
  const server = stub() as ServerContext;
  openRequestContext(request, { requestId: "r", server, peer: () => null });
  const ranges = [parseAddressRange(PROXY)].filter((range) => range !== null);
  expect(() => personOf(request, { header: "X-Forwarded-Email", ranges, secret: null })).toThrow(Problem);
});

describe("a login proxy that has to prove itself", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService(sqliteStore, { ...SETTINGS, LOGIN_PROXY_SECRET: SECRET });
    await keyFor(service, "ana", await service.tenant());
  });
  afterAll(() => service.remove());

  test("names nobody without its secret", async () => {
    const offered = async (secret: Readonly<Record<string, string>>, from = PROXY) => {
      const lines = Object.entries({ ...as("ana"), ...secret }).map(([name, value]) => `${name}: ${value}`);
      return offeredOn(await askRaw(service, "/log-in", lines, from)).length;
    };
    expect(await offered({ "Login-Proxy-Secret": SECRET })).toBe(1);
    expect(await offered({ "Login-Proxy-Secret": SECRET }, STRANGER)).toBe(0);
    for (const secret of ["", SECRET.slice(1), `${SECRET}, ${SECRET}`])
      expect(await offered({ "Login-Proxy-Secret": secret })).toBe(0);
    expect(await offered({})).toBe(0);
  });
});
