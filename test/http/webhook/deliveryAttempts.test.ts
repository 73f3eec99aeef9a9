import { expect, test } from "bun:test";
import type { WebhookHistoryEvent } from "../../../src/commands/webhookDelivery/readWebhookDelivery.ts";
import { LEASE_EXPIRED } from "../../../src/domain/webhookDelivery/state.ts";
import { webhookHistoryJson } from "../../../src/http/webhookDelivery/webhookDeliveryResource.ts";

const origin = {
  workspaceId: "w",
  endpointId: "e",
  eventId: "1",
  eventStream: "email-1",
  eventRevision: 1,
  eventType: "email.sent",
};

function historyOf(reason: string): readonly WebhookHistoryEvent[] {
  const started = { origin, attempt: 1, worker: "w", leaseMs: 30_000 };
  const failed = { attempt: 1, durationMs: 30_000, reason, attemptBurnt: true };
  return [
    { at: "2026-11-23T00:00:00.000Z", event: { type: "WebhookAttemptStarted", data: started } },
    { at: "2026-11-23T00:00:30.000Z", event: { type: "WebhookAttemptFailed", data: failed } },
  ];
}

test("nobody knows how long a call took whose lease ran out", () => {
  const [attempt] = webhookHistoryJson(historyOf(LEASE_EXPIRED), false, () => null).attempt_log;
  expect(attempt).toMatchObject({ outcome: "failed", reason: LEASE_EXPIRED, duration_ms: null });
});

test("of a call that failed by itself it is known", () => {
  const [attempt] = webhookHistoryJson(historyOf("timeout"), false, () => null).attempt_log;
  expect(attempt).toMatchObject({ outcome: "failed", reason: "timeout", duration_ms: 30_000 });
});
