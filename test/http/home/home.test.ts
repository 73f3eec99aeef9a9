import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { version } from "../../../package.json";
import { rawCall } from "../../support/servers/rawRequest.ts";
import { startTestApp, type TestApp } from "../../support/service.ts";
import { until } from "../../support/until.ts";

const START_MS = 30_000;

describe("the service's own address", () => {
  let app: TestApp;
  beforeAll(async () => {
    // Nobody listens on port 1 of this machine.
    const env = { SMTP_URL: "smtp://127.0.0.1:1", BASE_URL: "https://mail.example.com/mail" };
    app = await startTestApp({ env });
    await app.send("goes-nowhere", {
      from: "hello@example.com",
      to: "ana@example.com",
      subject: "Hi",
      text: "Hi",
    });
    await until(
      async () => (await home({ accept: "application/json" })).json.status === "degraded",
      "the trouble",
    );
  }, START_MS);
  afterAll(() => app.remove());
  const home = (headers: Readonly<Record<string, string>> = {}, method = "GET") =>
    app.call(method, "/", { headers: { authorization: null, ...headers } });

  test("is a page that says what runs, how it is, and what to do next", async () => {
    const { status, headers, text } = await home({ accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
    for (const told of [
      `Version ${version}`,
      "something beside it is not well",
      "<dt>Relay</dt><dd><strong>not well</strong></dd>",
      'href="/mail/docs"',
      'href="/mail/openapi.json"',
      'href="/mail/health/ready"',
      "curl -i https://mail.example.com/mail/api/v1/emails",
      // Not every service has had a first run.
      "export POSTLEDGER_API_KEY=$(cat data/bootstrap.key)    # or a key of your own",
      "Bearer $POSTLEDGER_API_KEY",
    ])
      expect(text).toContain(told);
  });

  test("does not tell where the relay is, nor anything else from inside", async () => {
    for (const accept of ["text/html", "application/json"]) {
      const { text } = await home({ accept });
      for (const inner of ["127.0.0.1", "ECONNREFUSED", app.dataDir, app.apiKey])
        expect(text).not.toContain(inner);
    }
  });

  test("needs nothing from anywhere, and nothing may be done to it", async () => {
    const { text, headers } = await home();
    const policy = headers.get("content-security-policy") ?? "";
    const [, style = ""] = /<style>([\s\S]*?)<\/style>/.exec(text) ?? [];
    expect(policy).toBe(
      `default-src 'none'; style-src 'sha256-${new Bun.CryptoHasher("sha256").update(style).digest("base64")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
    expect(style).toContain("color-scheme: light dark");
    expect(text).not.toMatch(/<(script|link|img|iframe|base|form|object)\b| on\w+=| style=|@import|url\(/i);
    for (const [, target] of text.matchAll(/(?:href|src)="([^"]*)"/g)) expect(target).toStartWith("/mail/");
    expect(Object.fromEntries(headers)).toMatchObject({
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "referrer-policy": "no-referrer",
      vary: "Accept",
    });
  });

  test.each([
    ["application/json", "application/json"],
    ["application/json, text/html;q=0.5", "application/json"],
    ["text/html;q=0.1, application/*", "application/json"],
    ["text/html, application/json", "text/html; charset=utf-8"],
    ["*/*", "text/html; charset=utf-8"],
    ["application/json;q=0, */*", "text/html; charset=utf-8"],
    ["", "text/html; charset=utf-8"],
  ])("answers Accept %p with %s", async (accept, contentType) => {
    expect((await home({ accept })).headers.get("content-type")).toStartWith(contentType);
  });

  test("is JSON for a program", async () => {
    const { json } = await home({ accept: "application/json" });
    const links = {
      docs: "/mail/docs",
      openapi: "/mail/openapi.json",
      live: "/mail/health/live",
      ready: "/mail/health/ready",
    };
    expect(json).toEqual({ name: "Postledger", version, status: "degraded", links });
  });

  test("answers HEAD, and its path without the slash", async () => {
    expect(await home({}, "HEAD")).toMatchObject({ status: 200, text: "" });
    expect((await fetch(app.url)).status).toBe(200);
    expect((await home({}, "POST")).status).toBe(405);
    // Two slashes are another path. `fetch` would make them one.
    expect((await rawCall(app.url, ["GET", "//"], {})).status).toBe(404);
  });
});
