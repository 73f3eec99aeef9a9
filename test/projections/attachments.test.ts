import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { attachments, endedUploads, listAttachments, pendingUploads } from "../../projections/attachments.ts";
import { attachmentUse, messagesWithOldFiles } from "../../projections/attachmentUse.ts";
import type { Projection } from "../../projections/projection.ts";
import type { AttachmentEvent } from "../../src/domain/attachment/events.ts";
import { attachmentDecider, isRejectedOrExpired } from "../../src/domain/attachment/state.ts";
import { canLoseAttachments, expireAttachments } from "../../src/domain/email/contentErasure.ts";
import { DELIVERY_POLICY } from "../../src/domain/email/delivery/deliveryPolicy.ts";
import { ACCEPTANCE_REVISION, type EmailEvent } from "../../src/domain/email/events.ts";
import { type EmailState, emailDecider } from "../../src/domain/email/state.ts";
import type { DomainEvent } from "../../src/kernel/event/decider.ts";
import { HOUR_MS, rfc3339 } from "../../src/kernel/time.ts";
import type { ReadDatabaseFile } from "../../src/ports/readDatabase.ts";
import { ACCEPTED_AT, acceptance, play, stepsArbitrary } from "../support/emailHistories.ts";
import { emptyReadModel } from "../support/emptyReadModel.ts";

const UNTIL = ACCEPTED_AT + 24 * HOUR_MS;

let db: ReadDatabaseFile;
const openFor = (projection: Projection) => () => {
  db = emptyReadModel(projection);
};
afterEach(() => db.close());

function project(projection: Projection, stream: string, events: readonly DomainEvent[]): void {
  events.forEach((event, revision) => {
    if (!projection.events.includes(event.type)) return;
    const { type, data } = structuredClone(event);
    const metadata = { at: rfc3339(ACCEPTED_AT) };
    projection.apply({ stream, revision, id: crypto.randomUUID(), type, data, metadata }, db);
  });
}

const uploaded = (expiresAt = UNTIL): AttachmentEvent => ({
  type: "AttachmentUploaded",
  data: {
    workspaceId: "w",
    filename: "a.pdf",
    contentType: "application/pdf",
    bytes: 5,
    sha256: "5",
    uploadedAt: rfc3339(ACCEPTED_AT),
    expiresAt: rfc3339(expiresAt),
  },
});

describe("attachments", () => {
  beforeEach(openFor(attachments));

  test("match the stream of every upload, and list the work left to do", () => {
    const later = fc.constantFrom<AttachmentEvent>(
      { type: "AttachmentValidated", data: {} },
      { type: "AttachmentRejected", data: { code: "ATTACHMENT_INVALID", reason: "is no PDF" } },
      { type: "AttachmentExpired", data: { reason: "deleted" } },
      { type: "AttachmentBytesRemoved", data: {} },
    );
    let number = 0;
    fc.assert(
      fc.property(fc.array(later, { maxLength: 4 }), fc.boolean(), (events, isOverdue) => {
        number += 1;
        const id = `u${number}`;
        const all = [uploaded(isOverdue ? ACCEPTED_AT : UNTIL), ...events];
        project(attachments, `attachment-${id}`, all);
        const state = all.reduce(attachmentDecider.evolve, null);
        if (state === null) throw new Error("it does not exist");
        const query = { workspaceId: "w", limit: 1_000 };
        const row = listAttachments(db, query).rows.find((found) => found.id === id);
        const { status } = state;
        expect(row).toEqual({ id, createdAt: rfc3339(state.uploadedAt) });
        expect(listAttachments(db, { ...query, status }).rows.map((found) => found.id)).toContain(id);
        const pending = pendingUploads(db, [], 1_000).map((found) => found.id);
        expect(pending.includes(id)).toBe(status === "pending");
        const ended = endedUploads(db, ACCEPTED_AT, [], 1_000).filter((found) => found.id === id);
        const isOver = isOverdue && status !== "expired";
        expect(ended).toHaveLength(isOver || (isRejectedOrExpired(state) && !state.bytesRemoved) ? 1 : 0);
      }),
    );
  });

  test("leave out excluded uploads, and stop at the limit", () => {
    for (let index = 0; index < 5; index += 1) project(attachments, `attachment-u${index}`, [uploaded()]);
    expect(pendingUploads(db, ["u1", "u3"], 10).map(({ id }) => id)).toEqual(["u0", "u2", "u4"]);
    expect(pendingUploads(db, [], 2)).toHaveLength(2);
    expect(endedUploads(db, UNTIL, ["u0"], 10)).toHaveLength(4);
    expect(endedUploads(db, UNTIL - 1, [], 10)).toEqual([]);
  });
});

/** The events of a message's history as they are when it has files. */
function withFiles(events: readonly EmailEvent[]): readonly EmailEvent[] {
  const facts = { attachmentBytes: 5, directBytes: 5, attachmentsUntil: rfc3339(UNTIL) };
  return events.map((event, revision) =>
    revision === ACCEPTANCE_REVISION
      ? ({ type: event.type, data: { ...event.data, ...facts } } as EmailEvent)
      : event,
  );
}

describe("attachment-use", () => {
  beforeEach(openFor(attachmentUse));

  test("lists a message exactly while its files must still be removed, whatever happens to it", () => {
    let number = 0;
    const as = fc.constantFrom("queued" as const, "suppressed" as const);
    fc.assert(
      fc.property(stepsArbitrary, as, fc.boolean(), (steps, acceptedAs, hasFiles) => {
        number += 1;
        const id = `m${number}`;
        const options = { as: acceptedAs };
        const history = play(acceptedAs === "queued" ? steps : [], DELIVERY_POLICY, options);
        const events = history.events.map(({ event }) => event);
        const all = hasFiles ? withFiles(events) : events;
        const state = all.reduce<EmailState>(emailDecider.evolve, null);
        const isListed = (now: number) =>
          messagesWithOldFiles(db, now, [], 1_000).some((row) => row.id === id);
        project(attachmentUse, `email-${id}`, all);
        // Erased content takes its files with it, so there is nothing left to find here.
        expect(isListed(UNTIL - 1)).toBe(false);
        expect(isListed(UNTIL)).toBe(canLoseAttachments(state, UNTIL));
        const expiredEvents = expireAttachments(state, UNTIL).events;
        project(attachmentUse, `email-${id}`, expiredEvents);
        if (expiredEvents.length > 0) expect(isListed(UNTIL)).toBeFalse();
      }),
      { numRuns: 150 },
    );
  });

  test("lists a message that ended at delivery because its recipient was suppressed", () => {
    const claim = { attempt: 1, worker: "w1", leaseMs: 1, transport: "smtp" };
    const events: readonly EmailEvent[] = [
      ...withFiles(acceptance()),
      { type: "EmailDeliveryStarted", data: claim },
      { type: "EmailSuppressed", data: { attempt: 1, reason: "suppressed_since" } },
    ];
    project(attachmentUse, "email-m", events);
    expect(messagesWithOldFiles(db, UNTIL, [], 10).map(({ id }) => id)).toEqual(["m"]);
  });
});
