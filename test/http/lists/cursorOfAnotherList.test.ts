import { afterAll, beforeAll, expect, test } from "bun:test";
import { expectProblem } from "../../support/expectProblem.ts";
import { startTestApp, type TestApp } from "../../support/service.ts";
import { until } from "../../support/until.ts";

let service: TestApp;
const cursors = new Map<string, string>();

async function create(path: string, body: object): Promise<string> {
  const { status, json, text } = await service.call("POST", path, { body });
  if (status !== 201 && status !== 200) throw new Error(`${path}: ${status} ${text}`);
  return json.id;
}

async function versionsPath(name: string): Promise<string> {
  const path = `/api/v1/templates/${await create("/api/v1/templates", { name })}/versions`;
  for (const subject of ["One", "Two"]) await create(path, { subject, text: "Hello" });
  return path;
}

beforeAll(async () => {
  service = await startTestApp({ env: { DELIVERY: "off" } });
  for (const key of ["cursors-one", "cursors-two"]) {
    const mail = { from: "hello@example.com", to: "ana@example.com", subject: "Hello", text: "Hello" };
    expect((await service.send(key, mail)).status).toBe(202);
  }
  const versions = [await versionsPath("first"), await versionsPath("second")];
  for (const list of ["/api/v1/emails", "/api/v1/templates", "/api/v1/audit-log", ...versions]) {
    await until(async () => {
      const { json } = await service.call("GET", `${list}?limit=1`);
      if (json.next_cursor) cursors.set(list, json.next_cursor);
      return cursors.has(list);
    }, `two items of ${list}`);
  }
});
afterAll(() => service.remove());

test("a cursor is taken by the list that gave it, and by no other", async () => {
  for (const list of cursors.keys()) {
    for (const [from, cursor] of cursors) {
      const answer = await service.call("GET", `${list}?cursor=${cursor}`);
      if (list === from) expect(answer.status).toBe(200);
      else {
        expectProblem(answer, 400, "INVALID_REQUEST");
        expect(answer.json.errors).toEqual([
          { pointer: "/cursor", message: "is not a next_cursor of this list" },
        ]);
      }
    }
  }
});
