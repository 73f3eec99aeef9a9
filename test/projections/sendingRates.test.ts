import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { emails } from "../../projections/emails/emails.ts";
import { rateCounts, ratedWorkspaces } from "../../projections/emails/usage/queries.ts";
import { HOUR_MS, rfc3339 } from "../../src/kernel/time.ts";
import type { ReadDatabaseFile } from "../../src/ports/readDatabase.ts";
import { emptyReadModel } from "../support/emptyReadModel.ts";

const START = Date.parse("2030-01-01T10:30:00Z");
const ON_THE_HOUR = rfc3339(START - (START % HOUR_MS));

let db: ReadDatabaseFile;
let messages = 0;
beforeEach(() => {
  db = emptyReadModel(emails);
});
afterEach(() => db.close());

type Told = readonly [type: string, data?: object];

/** Accepts a message and applies what happened to it, an hour apart. */
function happened(told: readonly Told[], accepted: object = {}): void {
  messages += 1;
  const stream = `email-${messages}`;
  const data = {
    ...{ workspaceId: "w", senderId: "s", recipientHash: "h", fingerprint: "f", acceptedAt: rfc3339(START) },
    ...{ contentEventId: "c", contentDigest: "d", contentBytes: 7 },
    ...accepted,
  };
  const first = "scheduledAt" in accepted ? "EmailScheduled" : "EmailQueued";
  for (const [nth, [type, more = {}]] of [[first, data] as Told, ...told].entries()) {
    const metadata = { at: rfc3339(START + nth * HOUR_MS), actor: "test" };
    emails.apply({ stream, revision: nth + 1, id: crypto.randomUUID(), metadata, type, data: more }, db);
  }
}

const started: Told = ["EmailDeliveryStarted", { attempt: 1, worker: "w1", leaseMs: 1, transport: "smtp" }];
const sent: Told = ["EmailSent", { attempt: 1, transport: "smtp", reply: "250" }];
const failed: Told = ["EmailFailed", { attempt: 1, reason: "relay_refused" }];
const unknown: Told = [
  "EmailDeferred",
  {
    attempt: 1,
    reason: "no_answer_to_final_dot",
    attemptBurnt: true,
    ambiguous: true,
    nextAttemptAt: rfc3339(START),
  },
];
const bounced = (reason: string, source?: string): Told => [
  "EmailBounced",
  { attempt: 1, reason, ...(source === undefined ? {} : { source }) },
];
const hard = "recipient_address_rejected";
const complained: Told = ["EmailComplained", { attempt: 1, feedbackType: "abuse", source: "ses" }];
const delivered: Told = ["EmailDelivered", { attempt: 1, source: "ses" }];

const LATER = "2099-01-01T00:00:00.000Z";
const counts = (from = ON_THE_HOUR, until = LATER) => Object.values(rateCounts(db, "w", from, until));

describe("for its workspace's rates [sent, hard bounces, complaints] a message", () => {
  test.each([
    ["that a relay took counts as sent", [started, sent], [1, 0, 0]],
    ["that was delivered counts once", [started, sent, delivered], [1, 0, 0]],
    ["whose recipient the relay refused for good", [started, bounced(hard)], [1, 1, 0]],
    ["whose recipient was refused without that reason", [started, bounced("recipient_refused")], [1, 0, 0]],
    ["that bounced later", [started, sent, bounced(hard, "ses")], [1, 1, 0]],
    [
      "that bounced after it was delivered",
      [started, sent, delivered, bounced("mailbox_disabled", "api")],
      [1, 1, 0],
    ],
    ["that met a full mailbox", [started, sent, bounced("mailbox_full", "ses")], [1, 0, 0]],
    ["that the provider did not send", [started, sent, bounced("relay_refused", "resend")], [1, 0, 0]],
    ["that was complained about", [started, sent, complained], [1, 0, 1]],
    [
      "that was reported twice",
      [started, sent, bounced(hard, "ses"), complained, bounced(hard, "ses")],
      [1, 1, 0],
    ],
    ["of which only a report says that it went out", [started, unknown, complained, sent], [1, 0, 1]],
    ["whose delivery failed by our fault", [started, failed], [0, 0, 0]],
    ["that failed, and that the relay had after all", [started, failed, sent], [1, 0, 0]],
    ["that was canceled", [["EmailCanceled"]], [0, 0, 0]],
    ["that waits", [started, unknown], [0, 0, 0]],
  ] as const)("%s", (_, told, expected) => {
    happened(told);
    expect(counts()).toEqual([...expected]);
  });

  test("to the simulator or of a test key adds nothing, nor does another workspace's", () => {
    happened([started, sent, complained], { simulated: true });
    happened([started, bounced(hard)], { simulated: true, test: true });
    happened([started, bounced(hard)], { workspaceId: "x" });
    expect(counts()).toEqual([0, 0, 0]);
    expect(ratedWorkspaces(db, "", 10)).toEqual(["x"]);
  });

  test("counts in the hour of its acceptance, or of the time that it was scheduled for", () => {
    happened([started, sent, bounced(hard, "ses")]);
    const scheduledAt = rfc3339(START + 48 * HOUR_MS);
    happened([started, sent, complained], { scheduledAt });
    expect(counts()).toEqual([2, 1, 1]);
    expect(counts(rfc3339(Date.parse(ON_THE_HOUR) + HOUR_MS))).toEqual([1, 0, 1]);
    expect(counts(rfc3339(Date.parse(ON_THE_HOUR) + 49 * HOUR_MS))).toEqual([0, 0, 0]);
  });
});

test("the workspaces that send are listed page by page, each by one look into an index", () => {
  for (const workspaceId of ["c", "a", "b"]) {
    happened([started, sent], { workspaceId });
    happened([started, sent], { workspaceId, acceptedAt: rfc3339(START + 5 * HOUR_MS) });
  }
  expect(ratedWorkspaces(db, "", 2)).toEqual(["a", "b"]);
  expect(ratedWorkspaces(db, "b", 2)).toEqual(["c"]);
  const plans: string[] = [];
  const explained = {
    ...db,
    get: (sql: string, ...values: Parameters<typeof db.get>[1][]) => {
      plans.push(...db.all(`EXPLAIN QUERY PLAN ${sql}`, ...values).map(({ detail }) => String(detail)));
      return undefined;
    },
  };
  ratedWorkspaces(explained, "", 2);
  rateCounts(explained, "w", ON_THE_HOUR, LATER);
  expect(plans).toEqual([
    "SEARCH sending_rates USING COVERING INDEX sqlite_autoindex_sending_rates_1 (workspace_id>?)",
    "SEARCH sending_rates USING INDEX sqlite_autoindex_sending_rates_1 (workspace_id=? AND (day,hour)>(?,?) AND (day,hour)<(?,?))",
  ]);
});
