import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SCOPES, scopesPermitting } from "../../../src/domain/apiKey/scopes.ts";
import { allDashboardRoutes } from "../../../src/http/dashboard/frame/allDashboardRoutes.ts";
import type { DashboardOptions } from "../../../src/http/dashboard/frame/dashboardOptions.ts";
import type { LiveStreams } from "../../../src/http/dashboard/live/liveStreams.ts";
import { askDashboard, logIn } from "../../support/dashboard.ts";
import { dashboardFixture } from "../../support/dashboardFixture.ts";
import { ROOT } from "../../support/root.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { stub } from "../../support/stub.ts";

const COMPRESSED_BYTES_MAX = 60_000;
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** Every route, for tests that look at their method, path and scope alone: nothing of the service is asked. */
const routes = allDashboardRoutes(stub() as DashboardOptions, stub() as LiveStreams);

const pathOf = (path: string) => path.replace(/:[a-zA-Z]+/g, crypto.randomUUID());
/** Streams go on until somebody ends them: they have tests of their own. */
const pages = routes.filter(({ method, path }) => method === "GET" && !path.startsWith("/live"));
const actions = routes.filter(({ method }) => method === "POST");
const guarded = routes.flatMap((route) => (route.scope === null ? [] : [{ ...route, scope: route.scope }]));

describe("every page of the dashboard", () => {
  const fixture = dashboardFixture(sqliteStore);

  test.each(pages)("$path may load from this service alone, and be kept nowhere", async ({ path }) => {
    const { headers, html } = await fixture.visitor.get(pathOf(path));
    const policy = headers.get("content-security-policy") ?? "";
    // What shows a mail has a policy of its own, which is narrower.
    if (!policy.startsWith("sandbox")) expect(policy).toBe(POLICY);
    expect(headers.get("cache-control")).toContain("no-store");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(html).not.toMatch(/<script(?![^>]* src="\/)[^>]*>|<style\b| on[a-z]+="| style="|javascript:/i);
    for (const [, address = ""] of html.matchAll(/(?:href|src|action)="([^"]*)"/g))
      expect(address).toMatch(/^(\/(?!\/)|#)/);
  });

  test.each(routes)("$method $path needs a session", async ({ method, path }) => {
    const { status, html } = await askDashboard(fixture.service.url, pathOf(path), { method });
    expect(status).toBe(method === "GET" ? 303 : 401);
    if (method === "GET") return;
    expect(html).toContain(">Log in</a>");
    expect(html).not.toContain("Go back");
  });

  test.each(guarded)("$method $path is refused to a key without $scope", async ({ method, path, scope }) => {
    const other = await fixture.tenant.withKey({
      scopes: SCOPES.filter((one) => !scopesPermitting(scope).includes(one)),
    });
    const otherVisitor = await logIn(fixture.service.url, other.apiKey);
    const answer =
      method === "GET" ? await otherVisitor.get(pathOf(path)) : await otherVisitor.post(pathOf(path));
    expect(answer.status).toBe(403);
    expect(answer.html).toContain(scope);
  });

  test.each(actions)(
    "POST $path is refused without the token of the session, and from elsewhere",
    async ({ path }) => {
      expect((await fixture.visitor.post(pathOf(path), null)).status).toBe(403);
      const other = await logIn(fixture.service.url, fixture.tenant.apiKey);
      const foreign = { form_token: await other.formToken() };
      expect((await fixture.visitor.post(pathOf(path), foreign)).status).toBe(403);
      for (const headers of [
        { "sec-fetch-site": "cross-site" },
        { "sec-fetch-site": "same-site" },
        { origin: "https://evil.example" },
        { origin: "null" },
      ])
        expect((await fixture.visitor.post(pathOf(path), {}, headers)).status).toBe(403);
    },
  );

  test("a form of an earlier log-in is refused with what the browser shows now, and no word about keys", async () => {
    const other = await logIn(fixture.service.url, (await fixture.service.tenant()).apiKey);
    const { status, html } = await other.post("/log-out", { form_token: await fixture.visitor.formToken() });
    expect(status).toBe(403);
    expect(html).toContain(
      "Nothing was changed: the form is from an earlier log-in, and this browser now shows test.",
    );
    expect(html).not.toMatch(/manages the keys|Go back, change it/);
  });

  test.each(routes)(
    "$method $path refuses a script of a page that shows another workspace, or test mail",
    async ({ method, path }) => {
      const { visitor, tenant } = fixture;
      const other = await fixture.service.tenant();
      const ask = (shown: string) => {
        const headers = { "hx-request": "true", "postledger-shown": shown };
        return method === "GET"
          ? visitor.get(pathOf(path), headers)
          : visitor.post(pathOf(path), {}, headers);
      };
      for (const shown of [other.workspaceId, `test-${tenant.workspaceId}`]) {
        const { status, headers, html } = await ask(shown);
        expect(status).toBe(409);
        expect(headers.get("postledger-shown-now")).toBe("test");
        expect(html).toBe("");
      }
      // Streams that are allowed go on until somebody ends them.
      if (!path.startsWith("/live"))
        expect((await ask(tenant.workspaceId)).headers.get("postledger-shown-now")).toBeNull();
    },
  );

  test("that does not exist is a page that says so", async () => {
    const { status, html } = await fixture.visitor.get("/no-such-page");
    expect(status).toBe(404);
    expect(html).toContain("<h1>Not found</h1>");
    expect((await fixture.visitor.post("/")).status).toBe(405);
  });

  test("shows the pages that its key may see, and no others", async () => {
    const { apiKey } = await fixture.tenant.withKey({ scopes: [] });
    const { html } = await (await logIn(fixture.service.url, apiKey)).get("/");
    const hidden = guarded.filter(({ method, path }) => method === "GET" && !path.includes(":"));
    for (const { path } of hidden) expect(html).not.toContain(`href="/dashboard${path}"`);
  });

  test("comes with scripts and styles that are small, and kept for ever under a name of their content", async () => {
    const files = new Set<string>();
    for (const { path } of pages) {
      const { html } = await fixture.visitor.get(pathOf(path));
      for (const [, file = ""] of html.matchAll(/(?:href|src)="\/dashboard(\/assets\/[^"]+)"/g))
        files.add(file);
    }
    expect(files.size).toBeGreaterThan(3);
    let bytes = 0;
    for (const file of files) {
      const response = await fetch(`${fixture.service.url}/dashboard${file}`, {
        headers: { "accept-encoding": "gzip" },
        decompress: false,
      });
      expect(response.status).toBe(200);
      expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      bytes += (await response.arrayBuffer()).byteLength;
    }
    expect(bytes).toBeLessThan(COMPRESSED_BYTES_MAX);
    expect((await askDashboard(fixture.service.url, "/assets/dashboard.000000000000.css")).status).toBe(404);
  });
});

test("no template lets text through as it is", () => {
  const folder = join(ROOT, "src/http/dashboard");
  const templates = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".tsx"),
  );
  expect(templates.length).toBeGreaterThan(5);
  for (const name of templates)
    expect({ name, text: readFileSync(join(folder, name), "utf8") }).not.toMatchObject({
      text: expect.stringMatching(/dangerouslySetInnerHTML|hono\/html|\braw\(/),
    });
});
