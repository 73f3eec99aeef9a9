import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { version } from "../../../package.json";
import { rawCall } from "../../support/servers/rawRequest.ts";
import { startTestApp, type TestApp } from "../../support/service.ts";
import { until } from "../../support/until.ts";

const START_MS = 60_000;

describe("the service's own address", () => {
  let app: TestApp;
  beforeAll(async () => {
    // Nobody listens on port 1 of this machine.
    const env = {
      SMTP_URL: "smtp://127.0.0.1:1",
      BASE_URL: "https://mail.example.com/mail",
      BOOTSTRAP: "on",
    };
    app = await startTestApp({ env });
    await app.send("goes-nowhere", {
      from: "hello@example.com",
      to: "ana@example.com",
      subject: "Hi",
      text: "Hi",
    });
    await until(
      async () => (await getHome({ accept: "application/json" })).json.status === "degraded",
      "the failure report",
    );
  }, START_MS);
  afterAll(() => app.remove());
  const getHome = (headers: Readonly<Record<string, string>> = {}, method = "GET") =>
    app.call(method, "/", { headers: { authorization: null, ...headers } });

  test("leads people on to the dashboard", async () => {
    const accept = "text/html,application/xhtml+xml,*/*;q=0.8";
    const { status, headers } = await getHome({ accept });
    expect({ status, location: headers.get("location") }).toEqual({
      status: 303,
      location: "/mail/dashboard",
    });
    expect(headers.get("vary")).toBe("Accept");
  });

  test("does not show where the relay is, nor anything else internal", async () => {
    const { text } = await getHome({ accept: "application/json" });
    for (const inner of ["127.0.0.1", "ECONNREFUSED", app.dataDir, app.apiKey])
      expect(text).not.toContain(inner);
  });

  test.each([
    ["application/json", 200],
    ["application/json, text/html;q=0.5", 200],
    ["text/html;q=0.1, application/*", 200],
    ["text/html, application/json", 303],
    ["*/*", 303],
    ["application/json;q=0, */*", 303],
    ["", 303],
  ])("answers Accept %p with %d", async (accept, status) => {
    expect((await getHome({ accept })).status).toBe(status);
  });

  test("is JSON for a program", async () => {
    const { json } = await getHome({ accept: "application/json" });
    const links = {
      dashboard: "/mail/dashboard",
      docs: "/mail/docs",
      openapi: "/mail/openapi.json",
      live: "/mail/health/live",
      ready: "/mail/health/ready",
    };
    expect(json).toEqual({ name: "Postledger", version, status: "degraded", links });
  });

  test("answers HEAD, and its path without the slash", async () => {
    expect(await getHome({}, "HEAD")).toMatchObject({ status: 303, text: "" });
    expect((await fetch(app.url, { redirect: "manual" })).status).toBe(303);
    expect((await getHome({}, "POST")).status).toBe(405);
    // Two slashes are another path. `fetch` would make them one.
    expect((await rawCall(app.url, ["GET", "//"], {})).status).toBe(404);
  });
});
