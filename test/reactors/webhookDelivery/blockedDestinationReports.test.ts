import { expect, test } from "bun:test";
import type { WebhookFailure, WebhookOutcome } from "../../../src/kernel/outcome/webhookOutcome.ts";
import { BlockedDestinationReports } from "../../../src/reactors/webhookDelivery/blockedDestinationReports.ts";

const failed = (reason: WebhookFailure): WebhookOutcome => ({ kind: "failed", reason, durationMs: 0 });
const ANSWERED: WebhookOutcome = {
  kind: "answered",
  statusCode: 500,
  durationMs: 1,
  body: "",
  retryAfterSeconds: null,
};

test("a destination is reported when it becomes blocked, and again only once it was allowed or its URL changed", () => {
  const reported: string[] = [];
  const reports = new BlockedDestinationReports(({ url }) => reported.push(url));
  const note = (endpointId: string, outcome: WebhookOutcome, url = `https://${endpointId}.example/`) =>
    reports.note({ workspaceId: "w", endpointId, url }, outcome);
  const refused = failed("destination_not_public");
  note("a", ANSWERED);
  note("a", refused);
  note("a", refused);
  note("b", refused);
  expect(reported).toEqual(["https://a.example/", "https://b.example/"]);
  // Neither shows where the name resolves to.
  note("a", failed("dns"));
  note("a", failed("interrupted"));
  note("a", refused);
  expect(reported).toHaveLength(2);
  note("a", failed("connect"));
  note("a", refused);
  note("b", refused, "https://changed.example/");
  expect(reported.slice(2)).toEqual(["https://a.example/", "https://changed.example/"]);
});
