import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { attachmentAggregate, emailAggregate } from "../../src/commands/aggregateDefinitions.ts";
import {
  deleteUpload,
  expire,
  noteBytesRemoved,
  settleCheck,
} from "../../src/domain/attachment/decisions.ts";
import type { AttachmentEvent } from "../../src/domain/attachment/events.ts";
import { attachmentDecider, isRejectedOrExpired } from "../../src/domain/attachment/state.ts";
import { expireAttachments } from "../../src/domain/email/contentErasure.ts";
import type { EmailEvent } from "../../src/domain/email/events.ts";
import { base64Bytes, base64Fault, decodeBase64 } from "../../src/kernel/text/base64.ts";
import { HOUR_MS, rfc3339 } from "../../src/kernel/time.ts";
import { givenWhenThen } from "../support/givenWhenThen.ts";

const given = givenWhenThen(attachmentAggregate);
const NOW = Date.parse("2030-01-01T00:00:00Z");
const UNTIL = NOW + 24 * HOUR_MS;
const uploaded: AttachmentEvent = {
  type: "AttachmentUploaded",
  data: {
    workspaceId: "w",
    filename: "a.pdf",
    contentType: "application/pdf",
    bytes: 5,
    sha256: "5",
    uploadedAt: rfc3339(NOW),
    expiresAt: rfc3339(UNTIL),
  },
};
const validated: AttachmentEvent = { type: "AttachmentValidated", data: {} };
const rejected: AttachmentEvent = {
  type: "AttachmentRejected",
  data: { code: "ATTACHMENT_INVALID", reason: "is no PDF" },
};
const expired = (reason: "retention" | "deleted"): AttachmentEvent => ({
  type: "AttachmentExpired",
  data: { reason },
});
const removed: AttachmentEvent = { type: "AttachmentBytesRemoved", data: {} };
const clean = { kind: "clean" } as const;
const rejectedResult = { kind: "rejected", ...rejected.data } as const;

describe("an upload", () => {
  test("that is clean is ready, once", () => {
    given(uploaded)
      .when((state) => settleCheck(state, clean))
      .then("settled", validated)
      .again("notPending");
  });

  test("that is not clean is rejected, once", () => {
    given(uploaded)
      .when((state) => settleCheck(state, rejectedResult))
      .then("settled", rejected)
      .again("notPending");
  });

  test("keeps what the first check said", () => {
    given(uploaded, validated)
      .when((state) => settleCheck(state, rejectedResult))
      .then("notPending");
    given(uploaded, rejected)
      .when((state) => settleCheck(state, clean))
      .then("notPending");
    given(uploaded, expired("deleted"))
      .when((state) => settleCheck(state, clean))
      .then("notPending");
    given()
      .when((state) => settleCheck(state, clean))
      .then("notPending");
  });

  test.each([[[]], [[validated]], [[rejected]]])("after %j can be deleted, once", (events) => {
    given(uploaded, ...(events as AttachmentEvent[]))
      .when(deleteUpload)
      .then("deleted", expired("deleted"))
      .again("alreadyExpired");
  });

  test("that does not exist cannot be deleted", () => {
    given().when(deleteUpload).then("notFound");
  });

  test.each([[[]], [[validated]], [[rejected]]])("after %j expires at its time and not before", (events) => {
    given(uploaded, ...(events as AttachmentEvent[]))
      .when((state) => expire(state, UNTIL - 1))
      .then("notDue");
    given(uploaded, ...(events as AttachmentEvent[]))
      .when((state) => expire(state, UNTIL))
      .then("expired", expired("retention"))
      .again("notDue");
  });

  test("loses its bytes only once rejected or expired, and only once", () => {
    for (const events of [[], [uploaded], [uploaded, validated]]) {
      given(...events)
        .when(noteBytesRemoved)
        .then("notDue");
    }
    for (const last of [rejected, expired("retention"), expired("deleted")]) {
      given(uploaded, last).when(noteBytesRemoved).then("noted", removed).again("notDue");
    }
  });

  test("goes from pending over ready or rejected to expired and never back, whatever happens to it", () => {
    const order = { pending: 0, ready: 1, rejected: 1, expired: 2 };
    const decisions = fc.constantFrom(
      (state: Parameters<typeof expire>[0]) => settleCheck(state, clean),
      (state: Parameters<typeof expire>[0]) => settleCheck(state, rejectedResult),
      deleteUpload,
      (state: Parameters<typeof expire>[0]) => expire(state, UNTIL),
      noteBytesRemoved,
    );
    fc.assert(
      fc.property(fc.array(decisions, { maxLength: 8 }), (steps) => {
        let state = attachmentDecider.evolve(null, uploaded);
        for (const decide of steps) {
          const before = state;
          const { events } = decide(state);
          state = (events as AttachmentEvent[]).reduce(attachmentDecider.evolve, state);
          if (before === null || state === null) throw new Error("it does not exist");
          const isLater = order[state.status] > order[before.status];
          expect(isLater || state.status === before.status).toBeTrue();
          if (state.bytesRemoved) expect(isRejectedOrExpired(state)).toBeTrue();
        }
      }),
    );
  });
});

describe("the files of a message", () => {
  const givenEmail = givenWhenThen(emailAggregate);
  const acceptance = {
    workspaceId: "w",
    senderId: "s",
    recipientHash: "r",
    fingerprint: "f",
    acceptedAt: rfc3339(NOW),
    contentEventId: "c",
    contentDigest: "d",
    contentBytes: 1,
  };
  const facts = { attachmentBytes: 5, directBytes: 5, attachmentsUntil: rfc3339(UNTIL) };
  const queued: EmailEvent = { type: "EmailQueued", data: { ...acceptance, ...facts } };
  const sent: EmailEvent = { type: "EmailSent", data: { attempt: 1, transport: "smtp", reply: "250" } };
  const filesExpired: EmailEvent = { type: "EmailAttachmentsExpired", data: {} };

  test("are removed when it has ended and their retention is over, once", () => {
    givenEmail(queued, sent)
      .when((state) => expireAttachments(state, UNTIL))
      .then("expired", filesExpired)
      .again("notDue");
    givenEmail({
      type: "EmailSuppressed",
      data: { ...acceptance, ...facts, reason: "recipient_suppressed" },
    })
      .when((state) => expireAttachments(state, UNTIL))
      .then("expired", filesExpired)
      .again("notDue");
  });

  test("stay until it has ended, and for their retention", () => {
    const started: EmailEvent = {
      type: "EmailDeliveryStarted",
      data: { attempt: 1, worker: "a", leaseMs: 1, transport: "smtp" },
    };
    for (const events of [[], [queued], [queued, started]]) {
      givenEmail(...events)
        .when((state) => expireAttachments(state, UNTIL * 2))
        .then("notDue");
    }
    givenEmail(queued, sent)
      .when((state) => expireAttachments(state, UNTIL - 1))
      .then("notDue");
  });

  test("that it never had are not removed", () => {
    givenEmail({ type: "EmailQueued", data: acceptance }, sent)
      .when((state) => expireAttachments(state, UNTIL * 2))
      .then("notDue");
  });
});

describe("Base64", () => {
  test("has the computed length, and decodes to the original", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const text = bytes.toBase64();
        expect(base64Bytes(text)).toBe(bytes.length);
        expect(decodeBase64(text)).toEqual(bytes);
      }),
    );
  });

  test("with anything in it that is not Base64 is refused", () => {
    const noise = fc.constantFrom(" ", "\n", "\r\n", "\t", "\f", "-", "_", "=", "é", "%", "\0", "\u2028");
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 50 }), noise, fc.nat(), (bytes, extra, place) => {
        const text = bytes.toBase64();
        const at = place % (text.length + 1);
        expect(decodeBase64(text.slice(0, at) + extra + text.slice(at))).toBeNull();
      }),
    );
  });

  test.each(["a", "aG==k", "aGl=", "aB==", "=", "====", "data:text/plain;base64,aGk="])(
    "%p is none",
    (text) => {
      expect(decodeBase64(text)).toBeNull();
      expect(base64Fault(text)).toBe("is not standard Base64");
    },
  );

  test.each([
    [`${"eHh4".repeat(19)}\neHg=\n`, ": it contains line breaks"],
    ["eHh4\r\neHg=", ": it contains line breaks"],
    ["__7-", ", but its URL-safe form: write + for each -, and / for each _"],
    ["_w==", ", but its URL-safe form: write + for each -, and / for each _"],
    ["aGk", ": it lacks its padding, one or two = at the end"],
    ["eA", ": it lacks its padding, one or two = at the end"],
  ])("%j is told what is wrong", (text, words) => {
    expect(decodeBase64(text)).toBeNull();
    expect(base64Fault(text)).toBe(`is not standard Base64${words}`);
  });

  test.each(["", "=", "==", "a", "aa=", "a=="])("the arithmetic of %p is a count", (text) => {
    expect(base64Bytes(text)).toBeGreaterThanOrEqual(0);
  });
});
