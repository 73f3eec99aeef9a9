import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { emails } from "../../projections/emails/emails.ts";
import { heldAs, heldEmails } from "../../projections/emails/holdAfterRestore.ts";
import { leasedEmails, nextReadyAt, readyEmails } from "../../projections/emails/mailQueue.ts";
import type { Projection } from "../../projections/projection.ts";
import { heldVerificationMails, readyVerificationMails, senders } from "../../projections/senders.ts";
import { heldWebhooks } from "../../projections/webhookDeliveries/holdAfterRestore.ts";
import { nextWebhookReadyAt, readyWebhooks } from "../../projections/webhookDeliveries/queries.ts";
import { webhookDeliveries } from "../../projections/webhookDeliveries/webhookDeliveries.ts";
import { webhookDeliveryId } from "../../src/kernel/ids.ts";
import { rfc3339 } from "../../src/kernel/time.ts";
import type { ReadDatabaseFile } from "../../src/ports/readDatabase.ts";
import { emptyReadModel } from "../support/emptyReadModel.ts";

const START = Date.parse("2030-01-01T00:00:00Z");
const LATER = START + 1_000_000_000;
const AT = rfc3339(START);

/** A read model that gets one event after another. */
class Model {
  readonly db: ReadDatabaseFile;
  private readonly revisions = new Map<string, number>();

  constructor(private readonly projection: Projection) {
    this.db = emptyReadModel(projection);
  }

  append(stream: string, type: string, data: object = {}): string {
    // A message's first event is its content, which this read model does not read.
    const revision = this.revisions.get(stream) ?? (stream.startsWith("email-") ? 1 : 0);
    this.revisions.set(stream, revision + 1);
    const id = crypto.randomUUID();
    const event = { stream, revision, id, type, data, metadata: { at: AT, workspaceId: "w" } };
    expect(this.projection.events).toContain(type);
    this.projection.apply(event, this.db);
    return id;
  }

  restore(): void {
    const facts = { copyId: "copy", from: "backup", takenAt: AT, sealed: false, at: AT };
    this.append("instance", "InstanceRestored", facts);
  }

  resume(): void {
    this.append("instance", "InstanceResumed", { at: AT });
  }
}

let model: Model;
afterEach(() => model.db.close());

describe("messages that were unfinished when the log was restored", () => {
  const accepted = {
    ...{ workspaceId: "w", senderId: "s", recipientHash: "h", fingerprint: "f", acceptedAt: AT },
    ...{ contentEventId: "c", contentDigest: "d", contentBytes: 1 },
  };
  const claim = { attempt: 1, worker: "x", leaseMs: 1_000, transport: "smtp" };
  const deferred = {
    attempt: 1,
    reason: "lease_expired",
    attemptBurnt: true,
    ambiguous: true,
    nextAttemptAt: AT,
  };
  const ready = () => readyEmails(model.db, "relay", LATER, 10).map(({ id }) => id);

  beforeEach(() => {
    model = new Model(emails);
    for (const id of ["1", "2", "3"]) model.append(`email-${id}`, "EmailQueued", accepted);
    model.append("email-2", "EmailDeliveryStarted", claim);
    model.append("email-3", "EmailSent", { attempt: 1, transport: "smtp", reply: "250" });
    model.restore();
  });

  test("are not due, while those accepted later are", () => {
    expect(ready()).toEqual([]);
    expect(nextReadyAt(model.db, "relay", 0)).toBeNull();
    expect(heldEmails(model.db, START)).toEqual({ held: 2, claimed: 1, notYetDue: 0 });
    model.append("email-4", "EmailQueued", accepted);
    expect(ready()).toEqual(["4"]);
  });

  test("are still held when a lease expires and when they are rescheduled", () => {
    expect(leasedEmails(model.db, 10).map(({ id }) => id)).toEqual(["2"]);
    model.append("email-2", "EmailDeferred", deferred);
    model.append("email-1", "EmailDeferred", { ...deferred, reason: "resumed" });
    expect(ready()).toEqual([]);
    expect(heldEmails(model.db, START)).toEqual({ held: 2, claimed: 0, notYetDue: 0 });
  });

  test("continue when resumed, and can be canceled before that", () => {
    model.append("email-1", "EmailCanceled");
    expect(heldEmails(model.db, START)).toEqual({ held: 1, claimed: 1, notYetDue: 0 });
    model.append("email-2", "EmailDeferred", deferred);
    model.resume();
    expect(ready()).toEqual(["2"]);
    expect(heldEmails(model.db, START)).toEqual({ held: 0, claimed: 0, notYetDue: 0 });
    model.append("email-2", "EmailDeliveryStarted", claim);
    model.append("email-2", "EmailDeferred", deferred);
    expect(ready()).toEqual(["2"]);
  });
});

test("mail scheduled for after the restoration cannot have been sent, unless its time was another one before", () => {
  model = new Model(emails);
  const scheduledFor = (id: string, at: number) => {
    const facts = { workspaceId: "w", senderId: "s", recipientHash: "h", fingerprint: "f", acceptedAt: AT };
    const content = { contentEventId: "c", contentDigest: "d", contentBytes: 1 };
    model.append(`email-${id}`, "EmailScheduled", { ...facts, ...content, scheduledAt: rfc3339(at) });
  };
  for (const id of ["later", "moved"]) scheduledFor(id, START + 1);
  scheduledFor("then", START);
  model.restore();
  model.append("email-moved", "EmailRescheduled", { scheduledAt: rfc3339(LATER) });
  expect(heldEmails(model.db, START)).toEqual({ held: 3, claimed: 0, notYetDue: 1 });
  const holds = ["later", "moved", "then", "none"].map((id) => heldAs(model.db, id, START));
  expect(holds).toEqual(["notYetDue", "waiting", "waiting", null]);
});

describe("webhook deliveries that were unfinished when the log was restored", () => {
  let ids: string[];
  const endpoint = { endpointId: "e", workspaceId: "w", url: "https://x.example", description: null };
  const addTestDelivery = () =>
    webhookDeliveryId(model.append("webhooks-w", "WebhookTestRequested", { endpointId: "e" }), "e");
  const origin = (eventId: string) => {
    return {
      workspaceId: "w",
      endpointId: "e",
      eventId,
      eventStream: "s",
      eventRevision: 0,
      eventType: "webhook.test",
    };
  };
  const claim = (id: string) =>
    model.append(`webhookdelivery-${id}`, "WebhookAttemptStarted", {
      ...{ origin: origin("1"), attempt: 1, worker: "x", leaseMs: 1_000 },
    });
  const fail = (id: string) =>
    model.append(`webhookdelivery-${id}`, "WebhookAttemptFailed", {
      ...{ attempt: 1, durationMs: 1, reason: "timeout", attemptBurnt: true, nextAttemptAt: AT },
    });
  const ready = () => readyWebhooks(model.db, LATER, [], 10).map(({ id }) => id);

  beforeEach(() => {
    model = new Model(webhookDeliveries);
    model.append("webhooks-w", "WebhookEndpointRegistered", {
      ...endpoint,
      eventTypes: null,
      sealedSecret: "x",
    });
    ids = [addTestDelivery(), addTestDelivery(), addTestDelivery()];
    claim(ids[1] ?? "");
    claim(ids[2] ?? "");
    model.append(`webhookdelivery-${ids[2]}`, "WebhookDelivered", {
      attempt: 1,
      durationMs: 1,
      statusCode: 200,
    });
    model.restore();
  });

  test("are not due, and do not hide later deliveries", () => {
    expect(ready()).toEqual([]);
    expect(nextWebhookReadyAt(model.db, 0)).toBeNull();
    expect(heldWebhooks(model.db)).toBe(2);
    const later = addTestDelivery();
    expect(ready()).toEqual([later]);
  });

  test("are still held when a lease expires and when a redelivery is requested", () => {
    fail(ids[1] ?? "");
    model.append(`webhookdelivery-${ids[0]}`, "WebhookRedeliveryRequested", { origin: origin("1"), at: AT });
    expect(ready()).toEqual([]);
    expect(heldWebhooks(model.db)).toBe(2);
  });

  test("continue when resumed; a delivered one can be redelivered at any time", () => {
    model.append(`webhookdelivery-${ids[2]}`, "WebhookRedeliveryRequested", { origin: origin("1"), at: AT });
    expect(ready()).toEqual([ids[2] ?? ""]);
    fail(ids[1] ?? "");
    model.resume();
    expect(ready().sort()).toEqual([...ids].sort());
    expect(heldWebhooks(model.db)).toBe(0);
    expect(nextWebhookReadyAt(model.db, 0)).toBe(START);
  });
});

test("verification mails unsent when the log was restored wait, later ones do not", () => {
  model = new Model(senders);
  const request = (requestId: string) =>
    model.append("sender-s", "SenderVerificationRequested", {
      ...{ requestId, secretHash: "x", requestedAt: AT, expiresAt: rfc3339(LATER) },
    });
  const ready = () => readyVerificationMails(model.db, LATER, 10).map(({ id }) => id);
  model.append("sender-s", "SenderAdded", { workspaceId: "w", address: "a@example.com" });
  request("1");
  request("2");
  const claim = { requestId: "2", attempt: 1, worker: "x", leaseMs: 1_000 };
  model.append("sender-s", "SenderVerificationMailStarted", claim);
  model.restore();
  const failed = { requestId: "2", attempt: 1, reason: "relay", nextAttemptAt: AT };
  model.append("sender-s", "SenderVerificationMailFailed", failed);
  expect(ready()).toEqual([]);
  expect(heldVerificationMails(model.db)).toBe(2);
  request("3");
  expect(ready()).toEqual(["3"]);
  model.resume();
  expect(ready().sort()).toEqual(["1", "2", "3"]);
  expect(heldVerificationMails(model.db)).toBe(0);
});
