import { expect, test } from "bun:test";
import { emails } from "../../projections/emails/emails.ts";
import { countDeferred, nextReadyAt, readyEmails } from "../../projections/emails/mailQueue.ts";
import {
  contentBytesOf,
  emailsToRecipient,
  findAcceptance,
  listEmails,
  workspacesRetaining,
} from "../../projections/emails/queries.ts";
import type { KeysetCursor } from "../../projections/keysetPagination.ts";
import { rfc3339 } from "../../src/kernel/time.ts";
import type { ReadDatabaseFile } from "../../src/ports/readDatabase.ts";
import { emptyReadModel } from "../support/emptyReadModel.ts";
import { acceptedOnDay } from "./acceptedOnDay.ts";

const START = Date.parse("2030-01-01T00:00:00Z");
const AT = rfc3339(START);
const LATER = START + 1_000;
const ACCEPTED = {
  ...{ workspaceId: "w", senderId: "s", recipientHash: "h", fingerprint: "f", acceptedAt: AT },
  ...{ contentEventId: "c", contentDigest: "d", contentBytes: 7 },
};

/** A read model with live mail, mail to the simulator and test mail, all of the same time. */
function built(): ReadDatabaseFile {
  const db = emptyReadModel(emails);
  const kinds = { live: {}, simulated: { simulated: true }, test: { simulated: true, test: true } };
  for (const [id, marks] of Object.entries(kinds)) {
    const event = { stream: `email-${id}`, revision: 1, id: crypto.randomUUID(), metadata: { at: AT } };
    emails.apply({ ...event, type: "EmailQueued", data: { ...ACCEPTED, ...marks } }, db);
  }
  return db;
}

const idsOf = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id).sort();

test("test mail has its own owner in lists, counts and sums", () => {
  const db = built();
  for (const [ownerId, ids] of [
    ["w", ["live", "simulated"]],
    ["test-w", ["test"]],
  ] as const) {
    expect(idsOf(listEmails(db, { ownerId, limit: 10 }).rows)).toEqual([...ids]);
    expect(acceptedOnDay(db, ownerId, AT)).toBe(ids.length);
    expect(contentBytesOf(db, ownerId)).toBe(7 * ids.length);
  }
  db.close();
});

test("a message's acceptance is found by its id and request fingerprint, whatever its status", () => {
  const db = built();
  const acceptedAt = Date.parse(AT);
  const event = {
    stream: "email-live",
    revision: 2,
    id: crypto.randomUUID(),
    metadata: { at: rfc3339(LATER) },
  };
  emails.apply({ ...event, type: "EmailCanceled", data: {} }, db);
  for (const id of ["live", "simulated", "test"])
    expect<object | null>(findAcceptance(db, id, ACCEPTED.fingerprint)).toEqual({
      acceptedAs: "queued",
      acceptedAt,
    });
  expect(findAcceptance(db, "live", "another request's")).toBeNull();
  expect(findAcceptance(db, "never accepted", ACCEPTED.fingerprint)).toBeNull();
  db.close();
});

test("simulated mail has another queue than mail for the relay, under the same workspace", () => {
  const db = built();
  expect(idsOf(readyEmails(db, "relay", LATER, 10))).toEqual(["live"]);
  const inside = readyEmails(db, "simulator", LATER, 10);
  expect(idsOf(inside)).toEqual(["simulated", "test"]);
  expect(inside.map(({ workspaceId }) => workspaceId)).toEqual(["w", "w"]);
  expect(nextReadyAt(db, "simulator", START - 1)).toBe(START);
  for (const id of ["live", "simulated", "test"]) {
    const event = { stream: `email-${id}`, revision: 3, id: crypto.randomUUID(), metadata: { at: AT } };
    const claim = { attempt: 1, worker: "w1", transport: "smtp", leaseMs: 1_000 };
    emails.apply({ ...event, type: "EmailDeliveryStarted", data: claim }, db);
    const marks = { attemptBurnt: true, ambiguous: false };
    const data = { attempt: 1, reason: "greylisted", nextAttemptAt: rfc3339(LATER), ...marks };
    emails.apply({ ...event, type: "EmailDeferred", data }, db);
  }
  // What is deferred waits for the relay, and the simulator is none.
  expect(countDeferred(db, 10)).toBe(1);
  db.close();
});

test("all messages of a person are found page by page, even when others share their time", () => {
  const db = built();
  const found: string[] = [];
  let after: KeysetCursor | null = null;
  do {
    const page = emailsToRecipient(db, { workspaceId: "w", recipientHash: "h" }, after, 1);
    found.push(...page.found.map(({ id }) => id));
    after = page.next;
  } while (after !== null && found.length < 10);
  expect(found.sort()).toEqual(["live", "simulated", "test"]);
  db.close();
});

test("test mail has its own retention age", () => {
  const db = built();
  const sent = { attempt: 1, transport: "simulator", reply: "250" };
  for (const id of ["live", "test"]) {
    const event = { stream: `email-${id}`, revision: 2, id: crypto.randomUUID(), metadata: { at: AT } };
    emails.apply({ ...event, type: "EmailSent", data: sent }, db);
  }
  expect(workspacesRetaining(db)).toEqual([
    { ownerId: "test-w", since: AT },
    { ownerId: "w", since: AT },
  ]);
  db.close();
});
