import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rawCall } from "../../support/servers/rawRequest.ts";
import { startTestApp, type TestApp } from "../../support/service.ts";
import { message, newKey } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const SEND = "/api/v1/emails";
const MAIL = message({ from: "hello@example.com" });

describe("a refusal says what to do about", () => {
  let service: TestApp;
  let other: TestApp;

  beforeAll(async () => {
    service = await startTestApp();
    other = await startTestApp({ env: { BASE_URL: "http://127.0.0.1:3000/mail" } });
  });
  afterAll(() => Promise.all([service.remove(), other.remove()]));

  const keyRefusal = async (headers: Readonly<Record<string, string>>) => {
    const { json } = await service.call("POST", SEND, { headers, body: MAIL });
    expect(json.code).toBe("IDEMPOTENCY_KEY_REQUIRED");
    return json.errors[0].message;
  };

  test("an Idempotency-Key: one that is missing, one of a wrong length, one with other characters", async () => {
    expect(await keyRefusal({})).toBe(
      "is required: 8 to 200 printable ASCII characters, another one for each message",
    );
    expect(await keyRefusal({ "idempotency-key": "order-1" })).toBe("must have 8 to 200 characters, not 7");
    expect(await keyRefusal({ "idempotency-key": "x".repeat(201) })).toBe(
      "must have 8 to 200 characters, not 201",
    );
    expect(await keyRefusal({ "idempotency-key": "best\u00e4tigung-1" })).toBe(
      "must hold printable ASCII characters only",
    );
    expect(await keyRefusal({ "idempotency-key": "order-4711\u00a0" })).toBe(
      "must hold printable ASCII characters only",
    );
  });

  test("a key that another message has: which one", async () => {
    const key = newKey();
    const first = await service.send(key, MAIL);
    const { status, json } = await service.send(key, { ...MAIL, subject: "Another" });
    expect({ status, code: json.code }).toEqual({ status: 409, code: "IDEMPOTENCY_CONFLICT" });
    expect(json.detail).toBe(
      `The Idempotency-Key was used with other content, for the message ${first.json.id}`,
    );
    expect(json.email_id).toBe(first.json.id);
  });

  test("a cancellation that comes too late: what became of the message", async () => {
    const { json } = await service.send(newKey(), MAIL);
    const path = `${SEND}/${json.id}`;
    await until(async () => (await service.call("GET", path)).json.status === "sent", "the mail to be sent");
    const refused = await service.call("POST", `${path}/cancel`);
    expect({ code: refused.json.code, detail: refused.json.detail }).toEqual({
      code: "EMAIL_NOT_CANCELABLE",
      detail: "The message can no longer be canceled: it is sent",
    });
  });

  test("a path that does not exist: where those that do are listed, and which one was meant", async () => {
    const unknown = async (app: TestApp, path: string, method = "GET") => {
      const { status, json } = await app.call(method, path);
      expect({ status, code: json.code }).toEqual({ status: 404, code: "NOT_FOUND" });
      return json.detail;
    };
    expect(await unknown(service, "/api/v1/invoices")).toBe("There is no such path: /docs lists all");
    expect(await unknown(service, "/api/v1/webhooks")).toBe(
      "There is no such path: /docs lists all. Did you mean /webhooks?",
    );
    expect(await unknown(service, "/emails/1")).toBe(
      "There is no such path: /docs lists all. Did you mean /api/v1/emails/{id}?",
    );
    expect(await unknown(service, "//api/v1//emails")).toBe(
      "There is no such path: /docs lists all. Did you mean /api/v1/emails, without doubled slashes?",
    );
    // Raw, because a client removes the dots itself.
    const dots = await rawCall(service.url, ["GET", "//evil.example/%2e%2e"], {});
    expect(JSON.parse(dots.text).detail).toBe("There is no such path: /docs lists all");
    expect(await unknown(service, "/health")).toBe(
      "There is no such path: /docs lists all. Below it: GET /health/live, GET /health/ready",
    );
    for (const path of ["/api/emails", "/v1/emails", "/api/v2/emails"]) {
      expect(await unknown(service, path)).toBe(
        "There is no such path: /docs lists all. Did you mean /api/v1/emails?",
      );
    }
    expect(await unknown(service, "/api/v1/template/1")).toBe(
      "There is no such path: /docs lists all. Did you mean /api/v1/templates/{id}?",
    );
    expect(await unknown(service, "/email/batch", "POST")).toBe(
      "There is no such path: /docs lists all. Did you mean /api/v1/emails/batch?",
    );
    for (const [method, path] of [
      ["PUT", "/domains/1"],
      ["POST", "/v3/mail/send"],
    ] as const)
      expect(await unknown(service, path, method)).toBe("There is no such path: /docs lists all");
    expect(await unknown(service, "/domains")).toBe(
      "There is no such path: /docs lists all. Did you mean /api/v1/senders?",
    );
    expect(await unknown(other, "/emails")).toBe(
      "There is no such path: /mail/docs lists all. Did you mean /mail/api/v1/emails?",
    );
    const withoutPrefix = async (path: string) =>
      ((await (await fetch(new URL(path, other.url))).json()) as { detail: string }).detail;
    expect(await withoutPrefix("/api/v1/emails")).toBe(
      "There is no such path: /mail/docs lists all. Did you mean /mail/api/v1/emails?",
    );
    expect(await withoutPrefix("/elsewhere")).toBe("There is no such path: /mail/docs lists all");
  });

  test("a method that a path does not take", async () => {
    const detail = async (method: string, path: string) => (await service.call(method, path)).json.detail;
    expect(await detail("PUT", "/webhooks")).toBe(
      "This path takes GET, POST and HEAD, not PUT. Below it: GET /webhooks/{id}, PATCH /webhooks/{id}, DELETE /webhooks/{id}",
    );
    const ofOne = await detail("DELETE", `${SEND}/${crypto.randomUUID()}`);
    expect(ofOne).toStartWith("This path takes GET and HEAD, not DELETE. Below it: ");
    expect(ofOne).toContain("POST /api/v1/emails/{id}/cancel");
    expect(await detail("PUT", "/docs")).toBe("This path takes GET and HEAD, not PUT");
  });

  test("a name beside the sender's address", async () => {
    const { json } = await service.send(newKey(), { ...MAIL, from: "Acme <hello@example.com>" });
    expect(json.errors).toEqual([
      {
        pointer: "/from",
        message: "must be one bare address such as ana@example.com: the name goes into from_name",
      },
    ]);
  });

  test("an offset whose + was read as a space", async () => {
    const { json } = await service.call("GET", `${SEND}?created_from=2026-11-22T00:00:00+01:00`);
    expect(json.errors[0].message).toBe(
      "must be a date-time as in RFC 3339: 2030-01-31T12:00:00Z; in a query, + is written %2B",
    );
    const encoded = await service.call("GET", `${SEND}?created_from=2026-11-22T00:00:00%2B01:00`);
    expect(encoded.status).toBe(200);
  });

  test("a bound: in figures that can be read", async () => {
    const { json } = await service.send(newKey(), { ...MAIL, metadata: { ["k".repeat(81)]: 1 } });
    expect(json.errors[0].message).toBe("has a key of more than 80 characters");
    const variables = { a: "x".repeat(100_000) };
    const large = await service.send(newKey(), { ...MAIL, variables });
    expect(large.json.errors[0].message).toBe("is over 100,000 characters when encoded");
  });
});
