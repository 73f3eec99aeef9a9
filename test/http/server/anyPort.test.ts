import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import PostalMime from "postal-mime";
import { askRunningService } from "../../../src/cli/service/askRunningService.ts";
import type { Check } from "../../../src/service/status/checks/check.ts";
import { type Sink, startSmtpSink } from "../../support/mail/smtpSink.ts";
import { callerOf, startTestApp, type TestApp } from "../../support/service.ts";

const START_MS = 60_000;

describe.each([
  ["no BASE_URL", {}],
  ["a BASE_URL with a path", { BASE_URL: "http://127.0.0.1:0/mail" }],
])("on any free port (PORT=0) with %s, the port that was taken", (_name, settings) => {
  let sink: Sink;
  let service: TestApp;
  beforeAll(async () => {
    sink = await startSmtpSink({});
    const relay = { SMTP_URL: `smtp://127.0.0.1:${sink.port}`, VERIFICATION_FROM: "post@mail.example.net" };
    service = await startTestApp({ env: { PORT: "0", ...relay, ...settings } });
  }, START_MS);
  afterAll(async () => {
    await service.remove();
    await sink.close();
  });

  test("is in the document and on the page", async () => {
    expect((await service.call("GET", "/openapi.json")).json.servers).toEqual([{ url: service.url }]);
    expect((await service.call("GET", "/docs")).text).toContain(`${service.url}/api/v1/emails`);
  });

  test("is what doctor reports", async () => {
    const status = await askRunningService(service.dataDir, "/status", START_MS);
    const checks = (status.kind === "answered" ? status.body : []) as readonly Check[];
    const { detail } = checks.find(({ name }) => name === "configuration") ?? {};
    expect(detail).toMatch(new RegExp(`BASE_URL ${service.url}/?$`));
  });

  test("is in the links that are mailed, which work", async () => {
    const body = { address: "anna@example.com" };
    const { id } = (await service.call("POST", "/api/v1/senders", { body })).json;
    const asking = { body: { method: "email" } };
    expect((await service.call("POST", `/api/v1/senders/${id}/verification`, asking)).status).toBe(200);
    await sink.until(() => sink.record.messages.length > 0);
    const { text = "" } = await PostalMime.parse(sink.record.messages[0]?.raw ?? "");
    const [link = ""] = /http\S+/.exec(text) ?? [];
    expect(link).toStartWith(`${service.url}/`);
    const visitor = callerOf(service.url, "");
    expect((await visitor.call("GET", link.slice(service.url.length))).status).toBe(200);
  });
});
