import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startTestApp, type TestApp } from "../../support/service.ts";

describe("faults from a body's schema and from the rules across its members are reported together", () => {
  let app: TestApp;
  let template: string;
  beforeAll(async () => {
    app = await startTestApp({ env: { DELIVERY: "off" } });
    template = (await app.call("POST", "/api/v1/templates", { body: { name: "Order" } })).json.id;
  });
  afterAll(() => app.remove());

  const bad: readonly [path: string, body: unknown, pointers: readonly string[]][] = [
    ["/api/v1/templates/{id}/versions", { subject: "", extra: 1 }, ["/extra", "/html", "/subject"]],
    [
      "/api/v1/templates/{id}/versions",
      {
        subject: "Hello",
        text: 7,
        variables: [
          { name: "nil", type: "string" },
          { name: "a", type: "number", default: "x" },
          { name: "a", type: "number", required: true, default: 1 },
          null,
        ],
      },
      [
        "/text",
        "/variables/0/name",
        "/variables/1/default",
        "/variables/2/default",
        "/variables/2/name",
        "/variables/3",
      ],
    ],
    [
      "/api/v1/api-keys",
      { name: "", scopes: ["email:send"], senders: ["a@", 7], client_ranges: ["10.0.0.0/99"] },
      ["/client_ranges/0", "/name", "/senders/0", "/senders/1"],
    ],
    ["/api/v1/suppressions", { address: "ana", note: 7 }, ["/address", "/note"]],
    ["/api/v1/erasures", { address: "ana", why: "asked" }, ["/address", "/why"]],
    ["/webhooks", { url: 7, event_types: ["email.sent", "email.read"] }, ["/event_types/1", "/url"]],
  ];

  test.each(bad)("POST %s %j", async (path, body, pointers) => {
    const { status, json } = await app.call("POST", path.replace("{id}", template), { body });
    expect({ status, code: json.code }).toEqual({ status: 400, code: "INVALID_REQUEST" });
    const found = json.errors.map(({ pointer }: { pointer: string }) => pointer);
    expect(found.toSorted()).toEqual([...pointers]);
  });

  test.each([
    ["/api/v1/suppressions", { "content-type": "text/plain" }, "Content-Type: must be application/json"],
    [
      "/api/v1/attachments",
      { "content-type": "text/plain" },
      "Content-Type: must be multipart/form-data or application/json",
    ],
    [
      "/api/v1/templates",
      { "content-type": "application/json", "content-encoding": "gzip" },
      "Content-Encoding: must be identity",
    ],
  ])("and a header of POST %s that is wrong is named: %j", async (path, headers, expectedMessage) => {
    const { status, json } = await app.call("POST", path, { body: "{}", headers });
    const [name, message] = expectedMessage.split(": ");
    expect({ status, code: json.code }).toEqual({ status: 400, code: "INVALID_REQUEST" });
    expect(json.detail).toBe(`/${expectedMessage}`);
    expect(json.errors).toEqual([{ pointer: `/${name}`, message }]);
  });

  test("and a value that has a form of its own says that it must have it", async () => {
    const body = { message_id: "<a@shop.example>", type: "bounced", status: "5" };
    const { json } = await app.call("POST", "/api/v1/feedback", { body });
    expect(json.detail).toBe("/status: must be an enhanced status code such as 5.1.1");
  });

  test("and of a member or a parameter that is given twice the last one counts", async () => {
    const duplicated = '{"name":"first","name":"second"}';
    expect((await app.call("POST", "/api/v1/templates", { body: duplicated })).json.name).toBe("second");
    const { json } = await app.call("GET", "/api/v1/templates?limit=100&limit=1");
    expect(json.data).toHaveLength(1);
  });

  test("and a text that is no JSON is refused with its place", async () => {
    const body = '{\n  "name": "Order",\n}';
    const { json } = await app.call("POST", "/api/v1/templates", { body });
    expect(json.detail).toBe(
      "the body is not JSON: line 3, column 1: a member's name in double quotes was expected",
    );
  });
});
