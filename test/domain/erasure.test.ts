import { describe, expect, test } from "bun:test";
import {
  attachmentAggregate,
  emailAggregate,
  erasureAggregate,
} from "../../src/commands/aggregateDefinitions.ts";
import { eraseUpload } from "../../src/domain/attachment/decisions.ts";
import type { AttachmentEvent } from "../../src/domain/attachment/events.ts";
import { expireContent } from "../../src/domain/email/contentErasure.ts";
import { releaseLease } from "../../src/domain/email/decisions.ts";
import { DELIVERY_POLICY } from "../../src/domain/email/delivery/deliveryPolicy.ts";
import type { EmailEvent } from "../../src/domain/email/events.ts";
import { completeErasure, noteApplied, requestErasure } from "../../src/domain/erasure/decisions.ts";
import type { ErasureCounts, ErasureEvent } from "../../src/domain/erasure/events.ts";
import { suppress } from "../../src/domain/suppression/decisions.ts";
import type { SuppressionEvent } from "../../src/domain/suppression/events.ts";
import { suppressionDecider } from "../../src/domain/suppression/state.ts";
import { toErasedEvents } from "../../src/kernel/event/erasedEventHashes.ts";
import { erasedEventHashes, eventHash } from "../../src/kernel/event/eventHash.ts";
import { HOUR_MS, rfc3339 } from "../../src/kernel/time.ts";
import { ACCEPTED_AT, acceptance } from "../support/emailHistories.ts";
import { foldOf, givenWhenThen } from "../support/givenWhenThen.ts";

const PERSON = { workspaceId: "w", recipientHash: "h" };
const COUNTS: ErasureCounts = {
  messagesErased: 2,
  messagesCanceled: 1,
  messagesErasedBefore: 0,
  messagesWithFiles: 0,
  outboxMessages: 0,
  uploadsErased: 0,
  uploadsKept: ["u"],
  suppressionsErased: 1,
};

const INPUT = { now: ACCEPTED_AT, random: 0, pausedMs: 0 };

const COPY = { kind: "backup", at: "2026-01-01T00:00:00.000Z", place: "/backups/one" } as const;

describe("a request to erase a person", () => {
  const given = givenWhenThen(erasureAggregate);
  const requested: ErasureEvent = { type: "ErasureRequested", data: PERSON };
  const applied: ErasureEvent = { type: "ErasureApplied", data: COUNTS };
  const completed: ErasureEvent = {
    type: "ErasureCompleted",
    data: { remains: ["a chunk"], copies: [COPY] },
  };

  test("is made once", () => {
    given()
      .when((state) => requestErasure(state, PERSON))
      .then("requested", requested)
      .again("alreadyRequested");
  });

  test("keeps the reference that it was filed under", () => {
    const filed: ErasureEvent = { type: "ErasureRequested", data: { ...PERSON, reference: "SUP-4711" } };
    given()
      .when((state) => requestErasure(state, { ...PERSON, reference: "SUP-4711" }))
      .then("requested", filed);
    expect(foldOf(erasureAggregate, [filed, applied])).toMatchObject({ reference: "SUP-4711" });
  });

  test("is applied once, and only then completed, once", () => {
    given(requested)
      .when((state) => noteApplied(state, COUNTS))
      .then("applied", applied)
      .again("notDue");
    given(requested, applied)
      .when((state) => completeErasure(state, { remains: ["a chunk"], copies: [COPY] }))
      .then("completed", completed)
      .again("notDue");
    given(requested)
      .when((state) => completeErasure(state, { remains: [], copies: [] }))
      .then("notDue");
    for (const past of [[], [requested, applied, completed]]) {
      given(...past)
        .when((state) => noteApplied(state, COUNTS))
        .then("notDue");
    }
    expect(foldOf(erasureAggregate, [requested, applied, completed])).toEqual({
      ...PERSON,
      reference: null,
      status: "completed",
      counts: COUNTS,
      remains: ["a chunk"],
      copies: [COPY],
    });
  });
});

describe("the content of a message", () => {
  const given = givenWhenThen(emailAggregate);
  const erased = (reason: string): EmailEvent => ({ type: "EmailContentErased", data: { reason } });
  const requested = (erasureId: string): EmailEvent => ({
    type: "EmailContentErasureRequested",
    data: { reason: "person", erasureId },
  });
  const claimed: EmailEvent = {
    type: "EmailDeliveryStarted",
    data: { attempt: 1, worker: "w", leaseMs: 1_000, transport: "smtp" },
  };

  test("is kept from its acceptance on, even if a clock that was set back has scheduled it for before that", () => {
    const moved: EmailEvent = {
      type: "EmailRescheduled",
      data: { scheduledAt: rfc3339(ACCEPTED_AT - 2 * HOUR_MS) },
    };
    const ended = [
      ...acceptance({ as: "scheduled", dueInMs: HOUR_MS }),
      moved,
      { type: "EmailCanceled", data: {} },
    ] as const;
    given(...ended)
      .when((state) => expireContent(state, ACCEPTED_AT - 1))
      .then("notDue");
    given(...ended)
      .when((state) => expireContent(state, ACCEPTED_AT))
      .then("erased", erased("retention"))
      .again("notDue");
  });

  test("was erased for the first reason in a log that holds several", () => {
    const folded = foldOf(emailAggregate, [...acceptance(), erased("requested"), erased("retention")]);
    expect(folded?.erasedFor).toEqual({ reason: "requested" });
  });

  test("waits to be erased for the first request in a log that holds several", () => {
    given(...acceptance(), claimed, requested("first"), requested("second"))
      .when((state) =>
        releaseLease(state, 1, "content_unavailable", { policy: DELIVERY_POLICY, input: INPUT }),
      )
      .then(
        "released",
        { type: "EmailFailed", data: { attempt: 1, reason: "content_unavailable" } },
        { type: "EmailContentErased", data: { reason: "person", erasureId: "first" } },
      );
  });
});

describe("an upload's name", () => {
  const given = givenWhenThen(attachmentAggregate);
  const times = { uploadedAt: "2030-01-01T00:00:00.000Z", expiresAt: "2030-01-02T00:00:00.000Z" };
  const file = { workspaceId: "w", contentType: "text/plain", bytes: 5 };
  const uploaded: AttachmentEvent = {
    type: "AttachmentUploaded",
    data: { ...file, ...times, filename: "ana.txt", sha256: "5" },
  };
  const expired: AttachmentEvent = { type: "AttachmentExpired", data: { reason: "deleted" } };
  const removed: AttachmentEvent = { type: "AttachmentBytesRemoved", data: {} };
  const hashes = [{ revision: 0, leaf: "0" }];
  const erased: AttachmentEvent = {
    type: "AttachmentErased",
    data: { ...file, ...times, erasureId: "e", erased: hashes },
  };

  test("is erased once its bytes are gone, once", () => {
    given(uploaded, expired, removed)
      .when((state) => eraseUpload(state, "e", hashes))
      .then("erased", erased)
      .again("notDue");
    for (const past of [[], [uploaded], [uploaded, expired]]) {
      given(...past)
        .when((state) => eraseUpload(state, "e", hashes))
        .then("notDue");
    }
  });

  test("leaves the same upload behind, whether earlier events are truncated or not", () => {
    const [whole, truncated] = [
      foldOf(attachmentAggregate, [uploaded, expired, removed, erased]),
      foldOf(attachmentAggregate, [erased]),
    ];
    expect(truncated).toEqual(whole);
    expect(truncated).toMatchObject({
      status: "expired",
      filename: null,
      sha256: null,
      bytesRemoved: true,
      bytes: 5,
    });
  });
});

test("a suppression whose address was erased still holds, and nothing is added to it", () => {
  const suppressed: SuppressionEvent = { type: "RecipientSuppressed", data: { ...PERSON, reason: "manual" } };
  const erased: SuppressionEvent = {
    type: "SuppressionAddressErased",
    data: { ...PERSON, cutsHistory: false, erasureId: "e", erased: [{ revision: 0, leaf: "0" }] },
  };
  const state = [suppressed, erased].reduce(suppressionDecider.evolve, suppressionDecider.initialState);
  expect(state).toEqual(suppressed.data);
  expect(suppress(state, { address: "a@example.com" }, suppressed.data).events).toEqual([]);
  expect(suppressionDecider.evolve(null, erased)).toBeNull();
});

test("the event that replaces truncated events holds their hashes", () => {
  const truncated = [0, 1].map((revision) => {
    const event = { type: "SuppressionAddressStored", data: { address: `${revision}@example.com` } };
    return { ...event, stream: "suppression-h", revision, id: crypto.randomUUID(), metadata: { at: "now" } };
  });
  const erased = toErasedEvents(truncated);
  expect(erased.map(({ leaf }) => leaf)).toEqual(truncated.map(eventHash));
  const data = { ...PERSON, cutsHistory: false, erasureId: "e", erased };
  const recorded = { stream: "suppression-h", revision: 2, id: crypto.randomUUID(), metadata: {} };
  const suppressionErased = { ...recorded, type: "SuppressionAddressErased", data };
  expect(erasedEventHashes(suppressionErased)).toEqual(erased);
  // Who is suppressed and forgotten once more: the one that let go goes too, and what it stood for is told on.
  expect(toErasedEvents([suppressionErased])).toEqual([
    ...erased,
    { revision: 2, leaf: eventHash(suppressionErased) },
  ]);
});
