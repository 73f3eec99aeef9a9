import { describe, expect, test } from "bun:test";
import { senderAggregate } from "../../src/commands/aggregateDefinitions.ts";
import {
  addSender,
  noteRecord,
  renameSender,
  switchSender,
  verifySender,
} from "../../src/domain/sender/decisions.ts";
import type { SenderEvent } from "../../src/domain/sender/events.ts";
import { authorityOf, canSend } from "../../src/domain/sender/state.ts";
import {
  confirmLink,
  LINK_LIFETIME_MS,
  requestVerification,
} from "../../src/domain/sender/verificationLink.ts";
import {
  claimVerificationMail,
  type MailResult,
  settleVerificationMail,
} from "../../src/domain/sender/verificationMailDelivery.ts";
import { HOUR_MS, MINUTE_MS, rfc3339 } from "../../src/kernel/time.ts";
import { foldOf, givenWhenThen } from "../support/givenWhenThen.ts";

const given = givenWhenThen(senderAggregate);
const facts = { workspaceId: "w", address: "shop@example.com", displayName: "Shop" };
const added: Extract<SenderEvent, { type: "SenderAdded" }> = { type: "SenderAdded", data: facts };
const verified: SenderEvent = { type: "SenderVerified", data: { method: "operator" } };
const disabled: SenderEvent = { type: "SenderDisabled", data: {} };
const enabled: SenderEvent = { type: "SenderEnabled", data: {} };

describe("a sender", () => {
  test("is added once", () => {
    given()
      .when((state) => addSender(state, added))
      .then("added", added)
      .again("alreadyAdded");
  });

  test("of either kind can get another name, or none", () => {
    const domain: SenderEvent = {
      type: "SenderDomainAdded",
      data: { workspaceId: "w", domain: "example.com", displayName: "Shop" },
    };
    for (const beginning of [added, domain]) {
      expect(foldOf(senderAggregate, [beginning])?.displayName).toBe("Shop");
      given(beginning)
        .when((state) => renameSender(state, "Store"))
        .then("renamed", { type: "SenderRenamed", data: { displayName: "Store" } })
        .again("unchanged");
      given(beginning)
        .when((state) => renameSender(state, null))
        .then("renamed", { type: "SenderRenamed", data: {} });
    }
    given()
      .when((state) => renameSender(state, "Store"))
      .then("notFound");
  });

  test("is verified once", () => {
    given(added)
      .when((state) => verifySender(state, "operator"))
      .then("verified", verified)
      .again("verified");
  });

  test("keeps the method by which it was verified first", () => {
    given(added, verified)
      .when((state) => verifySender(state, "dns"))
      .then("verified");
    expect(foldOf(senderAggregate, [added, verified])?.verifiedBy).toBe("operator");
  });

  test("is disabled once, and enabled once", () => {
    given(added)
      .when((state) => switchSender(state, "disabled"))
      .then("switched", disabled)
      .again("switched");
    given(added, disabled)
      .when((state) => switchSender(state, "enabled"))
      .then("switched", enabled)
      .again("switched");
    given(added)
      .when((state) => switchSender(state, "enabled"))
      .then("switched");
    given()
      .when((state) => switchSender(state, "disabled"))
      .then("notFound");
  });

  test("that was never added cannot be verified", () => {
    given()
      .when((state) => verifySender(state, "operator"))
      .then("notFound");
  });

  test("that is disabled stays disabled when it is verified", () => {
    given(added, disabled)
      .when((state) => verifySender(state, "operator"))
      .then("verified", verified);
    expect(canSend(foldOf(senderAggregate, [added, disabled, verified]))).toBe(false);
  });

  test.each([
    ["never added", [], false],
    ["added", [added], false],
    ["verified", [added, verified], true],
    ["disabled", [added, verified, disabled], false],
    ["enabled again", [added, verified, disabled, enabled], true],
    ["enabled and never verified", [added, disabled, enabled], false],
    ["without its beginning", [verified], false],
  ] as const)("can send or cannot when %s", (_, events, expected) => {
    expect(canSend(foldOf(senderAggregate, events))).toBe(expected);
  });
});

const domainAdded: SenderEvent = {
  type: "SenderDomainAdded",
  data: { workspaceId: "w", domain: "example.com" },
};

describe("the DNS record of a domain", () => {
  const domain: SenderEvent = {
    type: "SenderDomainAdded",
    data: { workspaceId: "w", domain: "example.com" },
  };
  const byRecord: SenderEvent = { type: "SenderVerified", data: { method: "dns" } };
  const missing: SenderEvent = { type: "SenderRecordMissing", data: { since: rfc3339(NOW) } };

  test("is noted once when it is missing, and once when it is there again", () => {
    given(domain, byRecord)
      .when((state) => noteRecord(state, false, NOW))
      .then("missing", missing)
      .again("unchanged");
    given(domain, byRecord, missing)
      .when((state) => noteRecord(state, true, NOW))
      .then("found", { type: "SenderRecordFound", data: {} })
      .again("unchanged");
  });

  test.each([
    ["an unverified domain", [domain]],
    ["a domain that the operator verified", [domain, verified]],
    ["an address", [added, verified]],
  ] as const)("is not asked of %s", (_, past) => {
    given(...past)
      .when((state) => noteRecord(state, false, NOW))
      .then("unchanged");
  });
});

describe("mail from an address may leave", () => {
  const none: readonly SenderEvent[] = [];
  test.each([
    ["on nobody's word when neither was added", none, none, null],
    ["on its own", [added, verified], none, "address"],
    ["on its own before its domain's", [added, verified], [domainAdded, verified], "address"],
    ["on its domain's when it was never added", none, [domainAdded, verified], "domain"],
    ["on its domain's when it was never verified", [added], [domainAdded, verified], "domain"],
    [
      "on nobody's when it is disabled, whatever its domain",
      [added, verified, disabled],
      [domainAdded, verified],
      null,
    ],
    [
      "on nobody's when it was disabled before it was verified",
      [added, disabled],
      [domainAdded, verified],
      null,
    ],
    ["on nobody's when the domain is not verified", [added], [domainAdded], null],
    ["on nobody's when the domain is disabled", none, [domainAdded, verified, disabled], null],
    [
      "on its own when the domain is disabled",
      [added, verified],
      [domainAdded, verified, disabled],
      "address",
    ],
  ] as const)("%s", (_, address, domain, expected) => {
    expect(authorityOf(foldOf(senderAggregate, address), foldOf(senderAggregate, domain))).toBe(expected);
  });
});

const NOW = Date.parse("2030-01-01T12:00:00Z");
const LEASE_MS = 2 * MINUTE_MS;
const requested: SenderEvent = {
  type: "SenderVerificationRequested",
  data: {
    requestId: "r1",
    secretHash: "hash",
    requestedAt: rfc3339(NOW),
    expiresAt: rfc3339(NOW + LINK_LIFETIME_MS),
  },
};
const mailStarted = (attempt: number): SenderEvent => ({
  type: "SenderVerificationMailStarted",
  data: { requestId: "r1", attempt, worker: "w1", leaseMs: LEASE_MS },
});
const mailSent = (attempt: number): SenderEvent => ({
  type: "SenderVerificationMailSent",
  data: { requestId: "r1", attempt, transport: "smtp" },
});
const mailFailed = (attempt: number, reason: string, nextAttemptAt?: number): SenderEvent => ({
  type: "SenderVerificationMailFailed",
  data: {
    requestId: "r1",
    attempt,
    reason,
    ...(nextAttemptAt === undefined ? {} : { nextAttemptAt: rfc3339(nextAttemptAt) }),
  },
});

describe("a verification link", () => {
  const ask = { requestId: "r1", secretHash: "hash", now: NOW };

  test("is opened for a sender that is not verified", () => {
    given(added)
      .when((state) => requestVerification(state, ask))
      .then("requested", requested);
    given(added, verified)
      .when((state) => requestVerification(state, ask))
      .then("alreadyVerified");
    given()
      .when((state) => requestVerification(state, ask))
      .then("notFound");
  });

  test("verifies its sender once", () => {
    given(added, requested)
      .when((state) => confirmLink(state, ask))
      .then("verified", { type: "SenderVerified", data: { method: "email" } })
      .again("used");
  });

  test.each([
    ["works to the last millisecond", { now: NOW + LINK_LIFETIME_MS - 1 }, "verified"],
    ["does not work from its end on", { now: NOW + LINK_LIFETIME_MS }, "expired"],
    ["does not work with another secret", { secretHash: "hasg" }, "unknown"],
    ["does not work for another request", { requestId: "r2" }, "unknown"],
  ] as const)("%s", (_, change, outcome) => {
    const decided = confirmLink(foldOf(senderAggregate, [added, requested]), { ...ask, ...change });
    expect(decided.outcome).toBe(outcome);
    expect(decided.events).toHaveLength(outcome === "verified" ? 1 : 0);
  });

  test("of a sender that somebody else has verified is used up", () => {
    given(added, requested, verified)
      .when((state) => confirmLink(state, ask))
      .then("used");
  });
});

describe("the mail of a link", () => {
  const claim = { requestId: "r1", worker: "w1", leaseMs: LEASE_MS, now: NOW, expiredAttempt: null };
  const claimAfter = (
    past: readonly SenderEvent[],
    change: Partial<Parameters<typeof claimVerificationMail>[1]> = {},
  ) => {
    const { outcome, events } = claimVerificationMail(foldOf(senderAggregate, past), { ...claim, ...change });
    return { attempt: outcome?.attempt ?? null, events };
  };

  test("is claimed by one", () => {
    expect(claimAfter([added, requested])).toEqual({ attempt: 1, events: [mailStarted(1)] });
    expect(claimAfter([added, requested, mailStarted(1)])).toEqual({ attempt: null, events: [] });
  });

  test("is claimed again once its lease is known to have expired, but not for an older claim's lease", () => {
    const past = [added, requested, mailStarted(1)];
    expect(claimAfter(past, { expiredAttempt: 1 })).toEqual({ attempt: 2, events: [mailStarted(2)] });
    expect(claimAfter([...past, mailStarted(2)], { expiredAttempt: 1 })).toEqual({
      attempt: null,
      events: [],
    });
  });

  test.each([
    ["sent", [added, requested, mailStarted(1), mailSent(1)]],
    ["given up", [added, requested, mailStarted(1), mailFailed(1, "relay_refused")]],
    ["of a sender that is verified", [added, requested, verified]],
    ["of nobody", []],
  ] as const)("that is %s is not claimed", (_, past) => {
    expect(claimAfter(past)).toEqual({ attempt: null, events: [] });
  });

  test("whose link has expired is given up instead of claimed", () => {
    expect(claimAfter([added, requested], { now: NOW + LINK_LIFETIME_MS })).toEqual({
      attempt: null,
      events: [mailFailed(0, "expired")],
    });
    const ended = [added, requested, mailFailed(0, "expired")];
    expect(claimAfter(ended, { now: NOW + LINK_LIFETIME_MS })).toEqual({ attempt: null, events: [] });
  });

  test("is retried with growing pauses, as long as its link is valid", () => {
    const busy: MailResult = { kind: "failed", reason: "recipient_deferred", isFinal: false };
    const finish = (attempt: number, now: number) =>
      settleVerificationMail(
        foldOf(senderAggregate, [added, requested, mailStarted(attempt)]),
        { requestId: "r1", attempt, now },
        busy,
      ).events;
    const at = (attempt: number, now: number, pauseMs?: number) => [
      mailFailed(attempt, "recipient_deferred", pauseMs === undefined ? undefined : now + pauseMs),
    ];
    expect(finish(1, NOW)).toEqual(at(1, NOW, MINUTE_MS));
    expect(finish(4, NOW)).toEqual(at(4, NOW, 8 * MINUTE_MS));
    expect(finish(30, NOW)).toEqual(at(30, NOW, HOUR_MS));
    const late = NOW + LINK_LIFETIME_MS - HOUR_MS;
    expect(finish(30, late)).toEqual(at(30, late));
  });

  test("waits for its next time", () => {
    const past = [added, requested, mailStarted(1), mailFailed(1, "recipient_deferred", NOW + MINUTE_MS)];
    expect(claimAfter(past, { now: NOW + MINUTE_MS - 1 }).attempt).toBeNull();
    expect(claimAfter(past, { now: NOW + MINUTE_MS }).attempt).toBe(2);
  });

  test("that a late worker has sent counts as sent; its failure counts for nothing", () => {
    const claimedAgain = [added, requested, mailStarted(1), mailStarted(2)];
    const attempt = { requestId: "r1", attempt: 1, now: NOW };
    given(...claimedAgain)
      .when((state) => settleVerificationMail(state, attempt, { kind: "sent", transport: "smtp" }))
      .then(null, mailSent(1))
      .again(null);
    given(...claimedAgain)
      .when((state) =>
        settleVerificationMail(state, attempt, { kind: "failed", reason: "expired", isFinal: true }),
      )
      .then(null);
    expect(claimAfter([...claimedAgain, mailSent(1)], { expiredAttempt: 2 }).attempt).toBeNull();
  });

  test("stays as its newest claim left it in a log that holds a late worker's failure", () => {
    const late = mailFailed(1, "relay_refused");
    const folded = (...past: readonly SenderEvent[]) =>
      foldOf(senderAggregate, [added, requested, mailStarted(1), ...past])?.requests[0]?.mail;
    expect(folded(mailStarted(2), late)).toBe("claimed");
    expect(folded(mailSent(1), late)).toBe("sent");
  });

  test("refused for good is not retried", () => {
    given(added, requested, mailStarted(1))
      .when((state) =>
        settleVerificationMail(
          state,
          { requestId: "r1", attempt: 1, now: NOW },
          { kind: "failed", reason: "recipient_refused", isFinal: true },
        ),
      )
      .then(null, mailFailed(1, "recipient_refused"))
      .again(null);
  });
});
