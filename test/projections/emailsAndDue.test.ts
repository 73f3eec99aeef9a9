import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { emails } from "../../projections/emails/emails.ts";
import {
  agedEmailsOf,
  allDueAt,
  leasedEmails,
  nextOwnerByAge,
  nextReadyAt,
  readyEmails,
  waitingEmails,
} from "../../projections/emails/mailQueue.ts";
import { type EmailQuery, listEmails } from "../../projections/emails/queries.ts";
import { projections } from "../../projections/index.ts";
import type { Lease } from "../../projections/lease.ts";
import { senders } from "../../projections/senders.ts";
import { isSuppressed, suppressions } from "../../projections/suppressions.ts";
import { listWebhookEndpoints, webhookEndpoints } from "../../projections/webhookEndpoints.ts";
import { DELIVERY_POLICY } from "../../src/domain/email/delivery/deliveryPolicy.ts";
import type { EmailEvent } from "../../src/domain/email/events.ts";
import {
  deliverFrom,
  type Email,
  type EmailState,
  emailDecider,
  isTerminal,
} from "../../src/domain/email/state.ts";
import { suppress, unsuppress } from "../../src/domain/suppression/decisions.ts";
import { type SuppressionEvent, suppressionStream } from "../../src/domain/suppression/events.ts";
import { type SuppressionState, suppressionDecider } from "../../src/domain/suppression/state.ts";
import { registerEndpoint } from "../../src/domain/webhook/decisions.ts";
import { type WebhookEvent, webhooksStream } from "../../src/domain/webhook/events.ts";
import { type WebhooksState, webhookDecider } from "../../src/domain/webhook/state.ts";
import type { DomainEvent } from "../../src/kernel/event/decider.ts";
import { COMPRESS_ABOVE_BYTES, encodeData } from "../../src/kernel/event/eventCodec.ts";
import { omitUndefined } from "../../src/kernel/omitUndefined.ts";
import { type EpochMs, HOUR_MS, rfc3339 } from "../../src/kernel/time.ts";
import type { ProjectedEvent, ReadDatabaseFile, SqlRow } from "../../src/ports/readDatabase.ts";
import { FairMailQueue } from "../../src/reactors/email/fairMailQueue.ts";
import {
  ACCEPTED_AT,
  type AcceptanceOptions,
  feedbackLists,
  HISTORY_CONTENT_BYTES,
  type History,
  play,
  stepsArbitrary,
  withFeedback,
  withLateSent,
} from "../support/emailHistories.ts";
import { emptyReadModel } from "../support/emptyReadModel.ts";

const RUNS = { numRuns: 60 };

/** One event of a made-up log. */
interface Logged {
  readonly stream: string;
  readonly revision: number;
  readonly at: EpochMs;
  readonly event: DomainEvent;
}

function projected({ stream, revision, at, event }: Logged): ProjectedEvent {
  const bytes = Buffer.byteLength(JSON.stringify(event.data));
  const data =
    bytes > COMPRESS_ABOVE_BYTES ? encodeData(event.data, bytes) : JSON.parse(JSON.stringify(event.data));
  return {
    stream,
    revision,
    id: crypto.randomUUID(),
    type: event.type,
    data,
    metadata: { at: rfc3339(at), workspaceId: "w1", actor: "api-key:k1" },
  };
}

/** Applies a log to every read model, each on its own database; `check` inspects them. */
function project(log: readonly Logged[], check: (db: Record<string, ReadDatabaseFile>) => void): void {
  const databases = projections.map((projection) => {
    const db = emptyReadModel(projection);
    for (const logged of log) {
      if (projection.events.includes(logged.event.type)) projection.apply(projected(logged), db);
    }
    return [projection.name, db] as const;
  });
  try {
    check(Object.fromEntries(databases));
  } finally {
    for (const [, db] of databases) db.close();
  }
}

/** Events of many streams, as a log would have them: by time, each stream in its own order. */
function interleaved(streams: readonly (readonly Logged[])[]): readonly Logged[] {
  return streams.flat().sort((one, other) => one.at - other.at);
}

/** A message with its whole history. */
interface EmailWithHistory {
  readonly id: string;
  readonly options: Required<AcceptanceOptions>;
  readonly history: History;
}

function logOf({ id, history }: EmailWithHistory): readonly Logged[] {
  return history.events.map(({ at, event }, revision) => ({ stream: `email-${id}`, revision, at, event }));
}

const acceptanceOptions: fc.Arbitrary<Required<AcceptanceOptions>> = fc.record({
  as: fc.oneof(
    { weight: 9, arbitrary: fc.constant("queued" as const) },
    { weight: 2, arbitrary: fc.constant("scheduled" as const) },
    { weight: 1, arbitrary: fc.constant("suppressed" as const) },
  ),
  dueInMs: fc.nat(2 * HOUR_MS),
  // So few times that some messages share one, which leaves the order to the log.
  at: fc.nat(4).map((hours) => ACCEPTED_AT + hours * HOUR_MS),
  workspaceId: fc.constantFrom("w1", "w1", "w2"),
  senderId: fc.constantFrom("s1", "s2"),
  authorityId: fc.constantFrom(undefined, "s2", "d1"),
  recipientHash: fc.constantFrom("r1", "r2", "r3"),
  templateId: fc.constantFrom(undefined, "t1"),
  templateVersionId: fc.constantFrom(undefined, "v1"),
  againOf: fc.constant(undefined),
  tagHashes: fc.subarray(["g1", "g2"]),
  metadataHashes: fc.subarray(["m1", "m2", "m3"]),
  deadlineInMs: fc.integer({ min: 1, max: 72 * HOUR_MS }),
  isErasedAtEnd: fc.boolean(),
});

const policies = fc.constantFrom(DELIVERY_POLICY, { ...DELIVERY_POLICY, onAmbiguous: "hold" as const });

const messagesArbitrary: fc.Arbitrary<readonly EmailWithHistory[]> = fc
  .array(fc.tuple(fc.uuid(), acceptanceOptions, stepsArbitrary, policies, feedbackLists), {
    maxLength: 15,
    size: "max",
  })
  .map((messages) =>
    messages.map(([id, accepted, steps, policy, later], nth) => {
      // Every third one has the content of one before it again.
      const options = { ...accepted, againOf: nth % 3 === 2 ? messages[nth - (nth % 4)]?.[0] : undefined };
      // Every third one is as it was accepted: of random histories few still wait.
      if (nth % 3 === 1) return { id, options, history: play([], policy, options) };
      const history = play(options.as === "suppressed" ? [] : steps, policy, options);
      return { id, options, history: withLateSent(withFeedback(history, later), policy) };
    }),
  );

function forEveryLog(
  check: (messages: readonly EmailWithHistory[], db: Record<string, ReadDatabaseFile>) => void,
): void {
  fc.assert(
    fc.property(messagesArbitrary, (messages) => {
      project(interleaved(messages.map(logOf)), (db) => check(messages, db));
    }),
    RUNS,
  );
}

/** What the two read models must hold for a message, by its fold alone. */
interface Expected {
  readonly state: Email;
  readonly updatedAt: string;
  readonly reason: string | null;
  /** The revision of the event that made the message ready or claimed it. */
  readonly revision: number;
}

/** The reason that an event gives the status; that a relay took a message may bring out an earlier report. */
function reasonOf(event: EmailEvent, after: EmailState): string | null {
  if (event.type === "EmailSent") return after?.report?.reason ?? null;
  return "reason" in event.data ? event.data.reason : null;
}

function expectedOf({ history }: EmailWithHistory): Expected {
  let state = emailDecider.initialState;
  let expected: Omit<Expected, "state"> = { updatedAt: "", reason: null, revision: -1 };
  for (const [revision, { at, event }] of history.events.entries()) {
    const after = emailDecider.evolve(state, event);
    expected = moved({ before: state, after, event, expected, at: rfc3339(at), revision });
    state = after;
  }
  if (state === null) throw new Error("a message of these logs was not accepted");
  return { ...expected, state };
}

interface Transition {
  readonly before: EmailState;
  readonly after: EmailState;
  readonly event: EmailEvent;
  readonly expected: Omit<Expected, "state">;
  readonly at: string;
  readonly revision: number;
}

function moved({ before, after, event, expected, at, revision }: Transition): Omit<Expected, "state"> {
  const isMoved = before?.status !== after?.status;
  const isResumed =
    before?.isDeliveryUnknown !== after?.isDeliveryUnknown || before?.nextAttemptAt !== after?.nextAttemptAt;
  return {
    updatedAt: isMoved ? at : expected.updatedAt,
    // While an attempt is in flight, the previous one's reason stands.
    reason: isMoved && after?.status !== "sending" ? reasonOf(event, after) : expected.reason,
    revision: isMoved || isResumed ? revision : expected.revision,
  };
}

/** The columns of a message's row for what was reported about it. */
function reportOf({ report }: Email): SqlRow {
  return { reported: report?.status ?? null, reported_reason: report?.reason ?? null };
}

/** The queue columns of a message's row. */
function queueOf(state: Email, revision: number): SqlRow {
  const scheduled_at = state.scheduledAt === null ? null : rfc3339(state.scheduledAt);
  const unclaimed = {
    scheduled_at,
    lease_ms: 0,
    claimed_by: null,
    held: 0,
    simulated: 0,
    needs_content_store: 0,
    deliver_before: state.deliverBefore,
  };
  if (isTerminal(state.status)) return { ...unclaimed, queue: null, due_at: null, revision: null };
  const { claim } = state;
  return {
    ...unclaimed,
    queue: claim ? "leased" : "ready",
    due_at: state.nextAttemptAt,
    revision,
    ...(claim && { lease_ms: claim.leaseMs, claimed_by: claim.worker }),
  };
}

const byText = (one: string, other: string) => (one < other ? -1 : Number(one > other));

const RECIPIENTS = ["r1", "r2", "r3"];
const suppressionSteps = fc.record({
  workspaceId: fc.constantFrom("w1", "w2"),
  recipientHash: fc.constantFrom(...RECIPIENTS),
  reason: fc.constantFrom("bounce", "manual"),
  isLift: fc.boolean(),
});
type SuppressionStep = typeof suppressionSteps extends fc.Arbitrary<infer Step> ? Step : never;

interface SuppressionModel {
  readonly state: SuppressionState;
  readonly since: string;
  readonly next: number;
}

interface SuppressionModels {
  readonly log: readonly Logged[];
  readonly byStream: ReadonlyMap<string, SuppressionModel>;
}

/** What a step adds to a recipient's stream. */
function suppressionEvents(
  state: SuppressionState,
  step: SuppressionStep,
  index: number,
): readonly SuppressionEvent[] {
  const { workspaceId, recipientHash, reason, isLift } = step;
  const facts = { workspaceId, recipientHash };
  if (isLift) return unsuppress(state).events;
  return suppress(state, { address: "ana@example.org" }, { ...facts, reason, emailId: `e${index}` }).events;
}

function modelSuppressions(steps: readonly SuppressionStep[]): SuppressionModels {
  const byStream = new Map<string, SuppressionModel>();
  const log: Logged[] = [];
  for (const [index, step] of steps.entries()) {
    const stream = suppressionStream(`${step.workspaceId} ${step.recipientHash}`);
    const known = byStream.get(stream) ?? { state: null, since: "", next: 0 };
    const events = suppressionEvents(known.state, step, index);
    const at = ACCEPTED_AT + index;
    log.push(...events.map((event, offset) => ({ stream, revision: known.next + offset, at, event })));
    byStream.set(stream, {
      state: events.reduce<SuppressionState>(suppressionDecider.evolve, known.state),
      since: events.length > 0 ? rfc3339(at) : known.since,
      next: known.next + events.length,
    });
  }
  return { log, byStream };
}

function checkSuppression(
  db: ReadDatabaseFile,
  { byStream }: SuppressionModels,
  { workspaceId, recipientHash }: { readonly workspaceId: string; readonly recipientHash: string },
): void {
  const { state = null, since } = byStream.get(suppressionStream(`${workspaceId} ${recipientHash}`)) ?? {};
  expect(isSuppressed(db, workspaceId, recipientHash)).toBe(state !== null);
  const sql = "SELECT reason, created_at FROM suppressions WHERE workspace_id = ? AND recipient_hash = ?";
  const row = db.get(sql, workspaceId, recipientHash);
  const expected = state && { reason: state.reason, created_at: since };
  expect(row ? { ...row } : null).toEqual(expected as SqlRow | null);
}

describe("the rows of random logs (properties):", () => {
  test("emails are what their streams fold to", () => {
    forEveryLog((messages, db) => {
      const rows = (db.emails as ReadDatabaseFile).all("SELECT * FROM emails ORDER BY id");
      const expected = messages.map((message): SqlRow => {
        const { options } = message;
        const { state, updatedAt, reason, revision } = expectedOf(message);
        return {
          id: message.id,
          workspace_id: state.workspaceId,
          status: state.status,
          sender_id: state.senderId,
          template_id: state.templateId,
          template_version_id: state.templateVersionId,
          api_key_id: "k1",
          again_of: state.againOf,
          recipient_hash: state.recipientHash,
          created_at: rfc3339(state.acceptedAt),
          updated_at: updatedAt,
          attempts: state.attempts,
          reason,
          is_retained: isTerminal(state.status) && !state.contentErased ? 1 : 0,
          content_bytes: state.contentErased ? 0 : HISTORY_CONTENT_BYTES,
          authority_id: state.acceptedAs === "suppressed" ? null : state.authorityId,
          tags: options.tagHashes.join(" ") || null,
          accepted_as: state.acceptedAs,
          fingerprint: state.fingerprint,
          ...reportOf(state),
          ...queueOf(state, revision),
        };
      });
      expect(rows.map((row) => ({ ...row }))).toEqual(
        expected.sort((a, b) => byText(String(a.id), String(b.id))),
      );
    });
  });

  test("a list has the reason of each message's status", () => {
    forEveryLog((messages, db) => {
      for (const message of messages) {
        const { state } = expectedOf(message);
        const { rows } = listEmails(db.emails as ReadDatabaseFile, {
          ownerId: state.workspaceId,
          limit: 1_000,
        });
        expect(rows.find(({ id }) => id === message.id)?.reason).toBe(state.reason);
      }
    });
  });

  test("no row of a message holds an address or a position", () => {
    for (const { tables } of [emails, suppressions, senders, webhookEndpoints])
      for (const { columns } of tables) expect(columns).not.toMatch(/position|address|"to"/);
  });

  test("suppressions are what their streams fold to", () => {
    fc.assert(
      fc.property(fc.array(suppressionSteps, { maxLength: 40 }), (steps) => {
        const expectedSuppressions = modelSuppressions(steps);
        project(expectedSuppressions.log, (db) => {
          for (const workspaceId of ["w1", "w2"])
            for (const recipientHash of RECIPIENTS)
              checkSuppression(db.suppressions as ReadDatabaseFile, expectedSuppressions, {
                workspaceId,
                recipientHash,
              });
        });
      }),
      RUNS,
    );
  });

  test("webhook endpoints are what their streams fold to, and each is listed once over all pages", () => {
    const step = fc.record({
      workspaceId: fc.constantFrom("w1", "w2"),
      path: fc.nat(12),
      endpointId: fc.uuid(),
      wait: fc.nat(1),
      eventTypes: fc.constantFrom<string[] | null>(null, [], ["email.sent"]),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), fc.integer({ min: 1, max: 7 }), (steps, limit) => {
        const states = new Map<string, { state: WebhooksState; next: number }>();
        const log: Logged[] = [];
        let at = ACCEPTED_AT;
        for (const { workspaceId, path, endpointId, wait, eventTypes } of steps) {
          at += wait;
          const known = states.get(workspaceId) ?? { state: webhookDecider.initialState, next: 0 };
          const facts = { endpointId, workspaceId, description: null, eventTypes, sealedSecret: "sealed" };
          const { events } = registerEndpoint(known.state, { ...facts, url: `https://example.com/${path}` });
          const stream = webhooksStream(workspaceId);
          log.push(...events.map((event: WebhookEvent) => ({ stream, revision: known.next, at, event })));
          const state = events.reduce(webhookDecider.evolve, known.state);
          states.set(workspaceId, { state, next: known.next + events.length });
        }
        project(log, (databases) => {
          const db = databases["webhook-endpoints"] as ReadDatabaseFile;
          for (const workspaceId of ["w1", "w2", "w3"]) {
            const { state } = states.get(workspaceId) ?? { state: webhookDecider.initialState };
            const all = listWebhookEndpoints(db, workspaceId, { limit: 100 });
            expect(new Map(all.map(({ url, id }) => [url, id]))).toEqual(
              new Map([...state.endpoints.values()].map(({ url, id }) => [url, id])),
            );
            const paged = pagesOf(limit, (after) =>
              listWebhookEndpoints(db, workspaceId, { ...after, limit }),
            );
            expect(paged).toEqual([...all]);
            const times = all.map(({ createdAt }) => createdAt);
            expect(times).toEqual([...times].sort().reverse());
          }
        });
      }),
      RUNS,
    );
  });
});

interface Keyed {
  readonly id: string;
  readonly createdAt: string;
}

/** All rows, page by page, each page after the last row of the one before. */
function pagesOf<Row extends Keyed>(
  limit: number,
  page: (after: { after?: Keyed }) => readonly Row[],
): Row[] {
  const all: Row[] = [];
  for (;;) {
    const last = all.at(-1);
    const rows = page(last ? { after: { createdAt: last.createdAt, id: last.id } } : {});
    expect(rows.length).toBeLessThanOrEqual(limit);
    all.push(...rows);
    if (rows.length < limit) return all;
  }
}

function restorationAt(at: EpochMs): Logged {
  const data = {
    copyId: "copy",
    from: "backup",
    takenAt: rfc3339(at),
    sealed: false,
    at: rfc3339(at),
  } as const;
  return { stream: "instance", revision: 1, at, event: { type: "InstanceRestored", data } };
}

describe("the queries (properties):", () => {
  test("listEmails finds what matches, newest first, each once over all pages", () => {
    const times = fc.option(
      fc.nat(5).map((hours) => rfc3339(ACCEPTED_AT + hours * HOUR_MS)),
      { nil: undefined },
    );
    const filters = fc.record({
      ownerId: fc.constantFrom("w1", "w2", "w3"),
      statuses: fc.oneof(
        fc.constantFrom(undefined, ["queued"]),
        fc.subarray(["queued", "scheduled", "deferred", "sent", "suppressed"], {
          minLength: 1,
          maxLength: 3,
        }),
      ),
      reasons: fc.option(
        fc.subarray(["recipient_refused", "relay_unreachable", "lease_expired", "recipient_suppressed"], {
          minLength: 1,
        }),
        { nil: undefined, freq: 2 },
      ),
      senderId: fc.constantFrom(undefined, undefined, "s1"),
      recipientHash: fc.constantFrom(undefined, undefined, "r1"),
      templateVersionId: fc.constantFrom(undefined, undefined, "v1"),
      isNeverAgain: fc.constantFrom(undefined, undefined, true as const),
      tag: fc.constantFrom(undefined, undefined, "g1"),
      metadata: fc.constantFrom(undefined, undefined, ["m1"], ["m1", "m2"]),
      createdFrom: times,
      createdBefore: times,
      limit: fc.integer({ min: 1, max: 6 }),
    });
    fc.assert(
      fc.property(
        messagesArbitrary,
        fc.array(filters, { minLength: 5, maxLength: 5 }),
        fc.option(fc.nat(8), { freq: 2 }),
        (messages, queries, restoredAfterHours) => {
          // Held mail waits too. The latest restoration comes after all acceptances.
          const restoration =
            restoredAfterHours === null ? [] : [restorationAt(ACCEPTED_AT + restoredAfterHours * HOUR_MS)];
          project(interleaved([...messages.map(logOf), restoration]), (db) => {
            for (const filter of queries) {
              const query: EmailQuery = omitUndefined(filter);
              const found = pagesOf(
                query.limit,
                (after) => listEmails(db.emails as ReadDatabaseFile, { ...query, ...after }).rows,
              );
              expect(found.map(({ id }) => id)).toEqual([...matching(messages, query)]);
            }
          });
        },
      ),
      RUNS,
    );
  });

  /** What a list must hold, by the folds. */
  function matching(messages: readonly EmailWithHistory[], query: EmailQuery): readonly string[] {
    const matches = (wanted: string | undefined, value: string) => wanted === undefined || wanted === value;
    return messages
      .filter(({ options }) => query.tag === undefined || options.tagHashes.includes(query.tag))
      .map((message) => ({ ...message, ...expectedOf(message).state }))
      .filter(({ options, contentErased }) =>
        (query.metadata ?? []).every((hash) => !contentErased && options.metadataHashes.includes(hash)),
      )
      .filter((email) => email.workspaceId === query.ownerId)
      .filter((email) => query.statuses?.includes(email.status) ?? true)
      .filter((email) => query.reasons?.includes(email.reason ?? "") ?? true)
      .filter((email) => matches(query.senderId, email.senderId))
      .filter((email) => matches(query.recipientHash, email.recipientHash))
      .filter((email) => matches(query.templateVersionId, email.templateVersionId ?? ""))
      .filter((email) => query.isNeverAgain === undefined || isNeverAgain(email, messages))
      .filter((email) => rfc3339(email.acceptedAt) >= (query.createdFrom ?? ""))
      .filter((email) => rfc3339(email.acceptedAt) < (query.createdBefore ?? "~"))
      .toReversed()
      .sort((a, b) => b.acceptedAt - a.acceptedAt)
      .map(({ id }) => id);
  }

  function isNeverAgain(email: Email & { readonly id: string }, all: readonly EmailWithHistory[]): boolean {
    if (email.againOf !== null && !["bounced", "failed", "suppressed"].includes(email.status)) return false;
    const repeats = all.filter(({ options }) => options.againOf === email.id);
    return repeats.every(({ options }) => options.recipientHash !== email.recipientHash);
  }

  test("due messages, leases and times match those folded from the streams", () => {
    const queryArbitrary = fc.record({
      now: fc.nat(80 * HOUR_MS).map((ms) => ACCEPTED_AT + ms),
      without: fc.subarray(["w1", "s1", "d1", "w9"]),
      limit: fc.constantFrom(1, 3, 100),
    });
    fc.assert(
      fc.property(
        messagesArbitrary,
        fc.array(queryArbitrary, { minLength: 5, maxLength: 5 }),
        (messages, queries) => {
          project(interleaved(messages.map(logOf)), (db) => {
            for (const query of queries) checkDueQuery(db.emails as ReadDatabaseFile, messages, query);
          });
        },
      ),
      RUNS,
    );
  });

  interface DueQuery {
    readonly now: EpochMs;
    readonly without: readonly string[];
    readonly limit: number;
  }

  /** At most `limit` of the candidates, those with the least keys first; which of equals is left open. */
  function expectSmallestKeys(
    found: readonly string[],
    keys: ReadonlyMap<string, number>,
    limit: number,
  ): void {
    expect(found.length).toBe(Math.min(limit, keys.size));
    expect(new Set(found).size).toBe(found.length);
    const foundKeys = found.map((id) => keys.get(id));
    expect(foundKeys).toEqual([...keys.values()].sort((a, b) => a - b).slice(0, limit));
  }

  /** Queries until nothing is left, treating the messages already returned as done. */
  function checkTurns(db: ReadDatabaseFile, isDue: readonly Open[], { now, without, limit }: DueQuery): void {
    const allowed = isDue.filter(
      ({ workspaceId, senderId, authorityId }) =>
        ![workspaceId, senderId, authorityId].some((holder) => without.includes(holder)),
    );
    const queue = new FairMailQueue("relay");
    const leftAlone = new Set<string>(without);
    const shown: string[] = [];
    for (;;) {
      const { items, more } = queue.look(db, { now, without: leftAlone, limit });
      expect(items.length).toBeLessThanOrEqual(limit);
      for (const { id } of items) leftAlone.add(id);
      shown.push(...items.map(({ id }) => id));
      if (items.length === 0 && more !== "next") break;
    }
    expect(shown.sort(byText)).toEqual(allowed.map(({ id }) => id).sort(byText));
  }

  /** Every workspace that has mail waiting, with its oldest, and what of it waits too long. */
  function checkAges(db: ReadDatabaseFile, ready: readonly Open[], { now, limit }: DueQuery): void {
    const workspaces: string[] = [];
    for (let next = nextOwnerByAge(db, ""); next; next = nextOwnerByAge(db, next.ownerId)) {
      const { ownerId: workspaceId, acceptedAt } = next;
      workspaces.push(workspaceId);
      const waiting = ready.filter((email) => email.workspaceId === workspaceId);
      expect(acceptedAt).toBe(Math.min(...waiting.map((email) => deliverFrom(email))));
      const pastSchedule = waiting.filter((email) => deliverFrom(email) <= now);
      const found = agedEmailsOf(db, workspaceId, now, limit).map(({ id }) => id);
      expectSmallestKeys(found, new Map(pastSchedule.map((email) => [email.id, deliverFrom(email)])), limit);
    }
    expect(workspaces).toEqual([...new Set(ready.map(({ workspaceId }) => workspaceId))].sort(byText));
  }

  type Open = Email & { readonly id: string };

  function checkDueQuery(db: ReadDatabaseFile, messages: readonly EmailWithHistory[], query: DueQuery): void {
    const { now, limit } = query;
    const open = messages
      .map((message) => ({ id: message.id, ...expectedOf(message).state }))
      .filter(({ status }) => !isTerminal(status));
    const ready = open.filter(({ claim }) => claim === null);
    const keysOf = (chosen: typeof ready, key: "nextAttemptAt" | "acceptedAt") =>
      new Map(chosen.map((email) => [email.id, email[key]]));

    const isDue = ready.filter(({ nextAttemptAt }) => nextAttemptAt <= now);
    const found = readyEmails(db, "relay", now, limit);
    expectSmallestKeys(
      found.map(({ id }) => id),
      keysOf(isDue, "nextAttemptAt"),
      limit,
    );
    for (const { id, workspaceId, senderId, authorityId, revision } of found) {
      const message = messages.find((candidate) => candidate.id === id) as EmailWithHistory;
      expect({ workspaceId, senderId, authorityId, revision }).toEqual({
        workspaceId: message.options.workspaceId,
        senderId: message.options.senderId,
        authorityId: message.options.authorityId ?? message.options.senderId,
        revision: expectedOf(message).revision,
      });
    }
    checkTurns(db, isDue, query);
    checkAges(db, ready, query);

    const later = ready.filter(({ nextAttemptAt }) => nextAttemptAt > now);
    const times = later.map(({ nextAttemptAt }) => nextAttemptAt);
    expect(nextReadyAt(db, "relay", now)).toBe(times.length === 0 ? null : Math.min(...times));
    const waiting = waitingEmails(db, allDueAt(now), limit).map(({ id }) => id);
    expectSmallestKeys(waiting, keysOf(later, "nextAttemptAt"), limit);

    const leased = open.flatMap(({ id, claim }): Lease[] => (claim ? [{ id, ...claim }] : []));
    expect([...leasedEmails(db, 100)].sort((a, b) => byText(a.id, b.id))).toEqual(
      leased.sort((a, b) => byText(a.id, b.id)),
    );
  }
});
