import { expect, test } from "bun:test";
import fc from "fast-check";
import { listWebhookDeliveries } from "../../projections/webhookDeliveries/queries.ts";
import { webhookDeliveries } from "../../projections/webhookDeliveries/webhookDeliveries.ts";
import { DELIVERY_POLICY } from "../../src/domain/email/delivery/deliveryPolicy.ts";
import { type EmailEvent, emailStream } from "../../src/domain/email/events.ts";
import { emailDecider } from "../../src/domain/email/state.ts";
import { type WebhookEvent, webhooksStream } from "../../src/domain/webhook/events.ts";
import { rfc3339 } from "../../src/kernel/time.ts";
import type { ProjectedEvent } from "../../src/ports/readDatabase.ts";
import { ACCEPTED_AT, type History, play, stepsArbitrary } from "../support/emailHistories.ts";
import { emptyReadModel } from "../support/emptyReadModel.ts";

const WORKSPACE = "w1";
const ENDPOINT = "e1";

const registered: WebhookEvent = {
  type: "WebhookEndpointRegistered",
  data: {
    endpointId: ENDPOINT,
    workspaceId: WORKSPACE,
    url: "https://hooks.example.com/",
    description: null,
    eventTypes: null,
    sealedSecret: "sealed",
  },
};

/** What an endpoint subscribed to everything is owed for a message: types, and the events' revisions. */
function expectedWebhooks(events: History["events"]): readonly string[] {
  const db = emptyReadModel(webhookDeliveries);
  const log = [
    { stream: webhooksStream(WORKSPACE), revision: 0, at: ACCEPTED_AT, event: registered },
    ...events.map(({ at, event }, revision) => ({ stream: emailStream("m1"), revision, at, event })),
  ];
  try {
    for (const { stream, revision, at, event } of log) {
      if (!webhookDeliveries.events.includes(event.type)) continue;
      const metadata = { at: rfc3339(at), workspaceId: WORKSPACE };
      const data = JSON.parse(JSON.stringify(event.data)) as ProjectedEvent["data"];
      webhookDeliveries.apply(
        { stream, revision, id: crypto.randomUUID(), type: event.type, data, metadata },
        db,
      );
    }
    const rows = listWebhookDeliveries(db, { endpointId: ENDPOINT, limit: 1_000 }).rows;
    return rows
      .toSorted((one, other) => one.eventRevision - other.eventRevision)
      .map(({ eventType, eventRevision }) => `${eventType} ${eventRevision}`);
  } finally {
    db.close();
  }
}

const NAMES: Readonly<Record<string, string>> = {
  EmailQueued: "email.queued",
  EmailSent: "email.sent",
  EmailDeferred: "email.delivery_delayed",
  EmailBounced: "email.bounced",
  EmailFailed: "email.failed",
  EmailSuppressed: "email.suppressed",
  EmailCanceled: "email.canceled",
};

const STATUSES: Readonly<Record<string, string>> = {
  EmailSent: "sent",
  EmailDeferred: "deferred",
  EmailBounced: "bounced",
  EmailFailed: "failed",
};

/**
 * A message put back for a pause, or resumed by an operator, was not delayed by its delivery. An outcome is reported if
 * it sets the status.
 */
function isReported({ step: { action }, before }: History["steps"][number], event: EmailEvent): boolean {
  const { type } = event;
  if (action.kind === "outcome" && type in STATUSES)
    return before?.status !== STATUSES[type] && emailDecider.evolve(before, event)?.status === STATUSES[type];
  if (type !== "EmailDeferred") return true;
  if (action.kind === "releaseLease") return ["suppressed", "content_unavailable"].includes(action.reason);
  return action.kind !== "resumeHeld";
}

test("every change of a message's status is reported, but a pause and its end are no delay", () => {
  fc.assert(
    fc.property(stepsArbitrary, (steps) => {
      const history = play(steps, DELIVERY_POLICY, { workspaceId: WORKSPACE });
      const accepted = history.events.length - history.steps.flatMap(({ events }) => events).length;
      const expected = [`email.queued ${accepted - 1}`];
      let revision = accepted;
      for (const step of history.steps) {
        for (const event of step.events) {
          const name = NAMES[event.type];
          if (name !== undefined && isReported(step, event)) expected.push(`${name} ${revision}`);
          revision += 1;
        }
      }
      expect(expectedWebhooks(history.events)).toEqual(expected);
    }),
    { numRuns: 200 },
  );
});
