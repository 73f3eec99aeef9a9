import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startTestApp, type TestApp } from "../support/service.ts";

const BUDGET_BYTES = 20_000_000;
const FORM_BYTES = 65_000;
const NOTIFICATION_BYTES = 900_000;
/** More than all room there is. */
const FORMS = Math.ceil((1.2 * BUDGET_BYTES) / FORM_BYTES);
const NOTIFICATIONS = Math.ceil((1.2 * BUDGET_BYTES) / NOTIFICATION_BYTES);

describe("the room for bodies sent without a key", () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp({
      env: {
        BODY_BYTES_IN_FLIGHT_MAX: String(BUDGET_BYTES),
        SES_TOPIC_ARNS: "arn:aws:sns:eu-west-1:123456789012:ses-events",
      },
    });
  });
  afterAll(() => app.remove());

  const statuses = async (count: number, path: string, body: string, contentType: string) => {
    const found = new Set<number>();
    for (let sent = 0; sent < count; sent += 1) {
      const headers = { "content-type": contentType };
      const answer = await fetch(app.url + path, { method: "POST", redirect: "manual", body, headers });
      await answer.arrayBuffer();
      found.add(answer.status);
    }
    return [...found];
  };

  test("is freed after each failed log-in", async () => {
    const form = `secret=${"x".repeat(FORM_BYTES)}`;
    expect(await statuses(FORMS, "/dashboard/log-in", form, "application/x-www-form-urlencoded")).toEqual([
      401,
    ]);
  });

  test("is freed after each refused notification", async () => {
    const notification = "x".repeat(NOTIFICATION_BYTES);
    expect(await statuses(NOTIFICATIONS, "/feedback/ses", notification, "text/plain")).toEqual([400]);
  });
});
