import { describe, expect, test } from "bun:test";
// @ts-expect-error: browsers get it as it is, so it has no types.
import { entryOf, folded, search } from "../../../src/http/reference/browser/search.js";

const entries = [
  entryOf("sendEmail", "Send an email", "POST /api/v1/emails from to IDEMPOTENCY_CONFLICT template_id"),
  entryOf("listEmails", "List emails", "GET /api/v1/emails status next_cursor"),
  entryOf("createTemplate", "Create a template", "POST /api/v1/templates name TEMPLATE_LIMIT_REACHED"),
  entryOf(
    "testWebhook",
    "Send a test event to a webhook endpoint",
    "POST /webhooks/{id}/test WEBHOOK_DISABLED",
  ),
];

describe("the search of the reference", () => {
  test.each<[string, readonly string[] | null]>([
    ["", null],
    [" / ", null],
    ["send", ["sendEmail", "testWebhook"]],
    ["SEND email", ["sendEmail"]],
    ["template", ["createTemplate", "sendEmail"]],
    ["idempotency conflict", ["sendEmail"]],
    ["idempotency_conflict", ["sendEmail"]],
    ["/api/v1/emails", ["listEmails", "sendEmail"]],
    ["GET emails", ["listEmails"]],
    ["emp", ["createTemplate", "sendEmail"]],
    ["webhooks/{id}", ["testWebhook"]],
    ["nothing of the kind", []],
  ])("%j finds %j", (query, ids) => {
    expect(search(entries, query)).toEqual(ids);
  });

  test("texts are compared without case and signs", () => {
    expect(folded("  Größe: NEXT_cursor/42 ")).toBe("größe next cursor 42");
  });
});
