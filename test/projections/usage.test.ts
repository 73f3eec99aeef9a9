import { describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { emails } from "../../projections/emails/emails.ts";
import { contentBytesOf } from "../../projections/emails/queries.ts";
import { countAccepted } from "../../projections/emails/usage/apply.ts";
import {
  type BouncesQuery,
  type BouncesRow,
  listBounces,
  listUsage,
  type UsageQuery,
  type UsageRow,
} from "../../projections/emails/usage/queries.ts";
import { ENDINGS, FEEDBACK_STATUSES } from "../../projections/emails/usage/tables.ts";
import type { SteppedRead, UsageCursor, UsagePage } from "../../projections/emails/usage/usageBuckets.ts";
import { ROWS_SCANNED_MAX } from "../../projections/keysetPagination.ts";
import { DELIVERY_POLICY } from "../../src/domain/email/delivery/deliveryPolicy.ts";
import type { EmailEvent } from "../../src/domain/email/events.ts";
import { emailDecider, isTerminal } from "../../src/domain/email/state.ts";
import { DAY_MS, type EpochMs, HOUR_MS, rfc3339 } from "../../src/kernel/time.ts";
import type { ReadDatabase, ReadDatabaseFile } from "../../src/ports/readDatabase.ts";
import {
  ACCEPTED_AT,
  type AcceptanceOptions,
  feedbackLists,
  play,
  stepsArbitrary,
  withFeedback,
} from "../support/emailHistories.ts";
import { emptyReadModel } from "../support/emptyReadModel.ts";

const RUNS = { numRuns: 60 };

interface EmailWithHistory {
  readonly id: string;
  readonly options: Required<
    Pick<AcceptanceOptions, "as" | "at" | "workspaceId" | "senderId" | "tagHashes">
  > & {
    readonly templateId: string | undefined;
  };
  readonly domain: string | undefined;
  readonly events: readonly { readonly at: EpochMs; readonly event: EmailEvent }[];
}

const emailsArbitrary: fc.Arbitrary<readonly EmailWithHistory[]> = fc.array(
  fc
    .record({
      id: fc.uuid(),
      options: fc.record({
        tagHashes: fc.subarray(["g1", "g2"]),
        as: fc.constantFrom("queued", "queued", "queued", "suppressed"),
        at: fc.nat(50).map((hours) => ACCEPTED_AT + hours * HOUR_MS),
        workspaceId: fc.constantFrom("w1", "w1", "w2"),
        senderId: fc.constantFrom("s1", "s2"),
        templateId: fc.constantFrom(undefined, "t1", "t2"),
      }),
      domain: fc.constantFrom(undefined, "one.example", "two.example"),
      steps: stepsArbitrary,
      later: feedbackLists,
    })
    .map(({ id, options, domain, steps, later }): EmailWithHistory => {
      const history = play(options.as === "queued" ? steps : [], DELIVERY_POLICY, options);
      const { events } = withFeedback(history, later);
      return {
        id,
        options,
        domain,
        events: events.map(({ at, event }) => ({ at, event: withDomain(event, domain) })),
      };
    }),
  { maxLength: 12, size: "max" },
);

function withDomain(event: EmailEvent, recipientDomain: string | undefined): EmailEvent {
  if (event.type !== "EmailBounced" || recipientDomain === undefined) return event;
  return { type: "EmailBounced", data: { ...event.data, recipientDomain } };
}

/** Applies the messages' events in the order of their times. */
function withRows(messages: readonly EmailWithHistory[], check: (db: ReadDatabaseFile) => void): void {
  const db = emptyReadModel(emails);
  try {
    const log = messages.flatMap(({ id, events }) =>
      events.map(({ at, event }, revision) => ({ stream: `email-${id}`, at, revision, ...event })),
    );
    for (const { at, ...event } of log.sort((one, other) => one.at - other.at)) {
      if (!emails.events.includes(event.type)) continue;
      emails.apply({ ...event, id: crypto.randomUUID(), metadata: { at: rfc3339(at) } }, db);
    }
    check(db);
  } finally {
    db.close();
  }
}

/** Something that counts: what it is, when it was, and of whom. */
interface Count {
  readonly what: string;
  readonly at: EpochMs;
  readonly message: EmailWithHistory;
}

/** What a message counts for, by its fold alone. */
function countsOf(message: EmailWithHistory): readonly Count[] {
  let state = emailDecider.initialState;
  const counts: Count[] = [{ what: "accepted", at: message.options.at, message }];
  for (const { at, event } of message.events) {
    const before = state?.status;
    state = emailDecider.evolve(state, event);
    // Later reports on a message count besides its delivery outcome.
    if (state !== null && isTerminal(state.status) && state.status !== before)
      counts.push({ what: state.status, at, message });
  }
  return counts;
}

function startOf(at: EpochMs, by: "hour" | "day"): string {
  const size = by === "hour" ? HOUR_MS : DAY_MS;
  return rfc3339(Math.floor(at / size) * size);
}

/** The rows of a bucket that a message counts in. */
function groupsOf({ groupBy, tag }: UsageQuery, { options }: EmailWithHistory): readonly string[] {
  const { senderId, templateId = "", tagHashes } = options;
  const tags = tagHashes.filter((hash) => (tag ?? hash) === hash);
  return { sender: [senderId], template: [templateId], tag: tags, none: [""] }[groupBy ?? "none"];
}

/** The counts of a query, added up here: newest first, groups in their order. */
function expectedUsage(messages: readonly EmailWithHistory[], query: UsageQuery): readonly UsageRow[] {
  const rows = new Map<string, Record<string, number> & UsageCursor>();
  for (const { what, at, message } of messages.flatMap(countsOf)) {
    const { workspaceId, senderId, templateId = "", tagHashes } = message.options;
    const start = startOf(at, query.by);
    const hour = startOf(at, "hour");
    const isWanted =
      workspaceId === query.ownerId &&
      hour >= query.from &&
      hour < query.before &&
      (query.senderId ?? senderId) === senderId &&
      (query.templateId ?? templateId) === templateId &&
      (query.tag === undefined || tagHashes.includes(query.tag));
    if (!isWanted) continue;
    const none = Object.fromEntries(["accepted", ...ENDINGS, ...FEEDBACK_STATUSES].map((name) => [name, 0]));
    for (const group of groupsOf(query, message)) {
      const row =
        rows.get(start + group) ?? ({ ...none, start, group } as Record<string, number> & UsageCursor);
      rows.set(start + group, { ...row, [what]: Number(row[what]) + 1 } as Record<string, number> &
        UsageCursor);
    }
  }
  return [...rows.values()].sort(newestFirst) as unknown as readonly UsageRow[];
}

function newestFirst(one: UsageCursor, other: UsageCursor): number {
  if (one.start !== other.start) return one.start < other.start ? 1 : -1;
  return one.group < other.group ? -1 : 1;
}

function expectedBounces(messages: readonly EmailWithHistory[], query: BouncesQuery): readonly BouncesRow[] {
  const rows = new Map<string, BouncesRow>();
  for (const { what, at, message } of messages.flatMap(countsOf)) {
    const group = message.domain ?? "";
    const hour = startOf(at, "hour");
    const isSelected = message.options.workspaceId === query.ownerId && (query.domain ?? group) === group;
    if (what !== "bounced" || !isSelected || hour < query.from || hour >= query.before) continue;
    const start = startOf(at, query.by);
    rows.set(start + group, { start, group, bounced: (rows.get(start + group)?.bounced ?? 0) + 1 });
  }
  return [...rows.values()].sort(newestFirst);
}

/** All rows of a list, fetched a page at a time. */
function readPaged<Row extends UsageCursor>(
  page: (after: UsageCursor | undefined) => SteppedRead<UsagePage<Row>>,
): readonly Row[] {
  const rows: Row[] = [];
  let after: UsageCursor | undefined;
  for (;;) {
    const { result } = run(page(after));
    rows.push(...result.rows);
    if (result.next === null) return rows;
    after = result.next;
  }
}

/** What steps come to, and how many there were. */
function run<Result>(steps: SteppedRead<Result>): { readonly result: Result; readonly stepCount: number } {
  for (let stepCount = 0; ; stepCount += 1) {
    const step = steps.next();
    if (step.done) return { result: step.value, stepCount };
  }
}

const ranges = fc
  .tuple(
    fc.nat(80),
    fc.nat(200),
    fc.constantFrom("hour" as const, "day" as const),
    fc.integer({ min: 1, max: 7 }),
  )
  .map(([from, hours, by, limit]) => {
    const start = ACCEPTED_AT - 10 * HOUR_MS + from * HOUR_MS;
    return { ownerId: "w1", from: rfc3339(start), before: rfc3339(start + hours * HOUR_MS), by, limit };
  });
const plainFilters = fc.record(
  {
    senderId: fc.constantFrom("s1", "s2"),
    templateId: fc.constantFrom("t1", "t2"),
    groupBy: fc.constantFrom("sender" as const, "template" as const),
  },
  { requiredKeys: [] },
);

const tagFilters = fc.record(
  { tag: fc.constantFrom("g1", "g2", "g3"), groupBy: fc.constant("tag" as const) },
  { requiredKeys: [] },
);
const filters = fc.oneof(plainFilters, tagFilters);

describe("usage of random logs (properties):", () => {
  test("every message counts once as accepted and once for its end, in the hour of each", () => {
    fc.assert(
      fc.property(emailsArbitrary, ranges, filters, (messages, range, filter) => {
        withRows(messages, (db) => {
          const query = { ...range, ...filter };
          const rows = readPaged((after) => listUsage(db, { ...query, ...(after ? { after } : {}) }));
          expect(rows).toEqual(expectedUsage(messages, query) as UsageRow[]);
        });
      }),
      RUNS,
    );
  });

  test("bounces count when they ended a message, by the domain that the event names", () => {
    fc.assert(
      fc.property(
        emailsArbitrary,
        ranges,
        fc.constantFrom(undefined, "one.example", "two.example"),
        (messages, range, domain) => {
          withRows(messages, (db) => {
            const query = { ...range, ...(domain === undefined ? {} : { domain }) };
            const rows = readPaged((after) => listBounces(db, { ...query, ...(after ? { after } : {}) }));
            expect(rows).toEqual(expectedBounces(messages, query) as BouncesRow[]);
          });
        },
      ),
      RUNS,
    );
  });
});

/** Messages without later reports: each ends once. */
const unmatched = emailsArbitrary.filter((messages) =>
  messages.every(({ events }) => events.every(({ event }) => !("source" in event.data))),
);

function total(db: ReadDatabase, sql: string): number {
  return Number(db.get(sql)?.total);
}

/** How many of the messages a relay took after they had ended otherwise: they count for both. */
function sentLate(messages: readonly EmailWithHistory[]): number {
  return messages.reduce((all, message) => all + Math.max(0, countsOf(message).length - 2), 0);
}

test("accepted messages equal ended plus waiting ones", () => {
  fc.assert(
    fc.property(unmatched, (messages) => {
      withRows(messages, (db) => {
        const ended = total(db, `SELECT sum(${ENDINGS.join(" + ")}) AS total FROM usage`);
        const waiting = total(
          db,
          "SELECT count(*) AS total FROM emails WHERE status IN ('queued', 'sending', 'deferred')",
        );
        expect(total(db, "SELECT sum(accepted) AS total FROM usage")).toBe(
          ended - sentLate(messages) + waiting,
        );
      });
    }),
    RUNS,
  );
});

test("the content of a workspace is the unerased content of its messages", () => {
  /** What every message of these histories has. */
  const CONTENT_BYTES = 2;
  const isErased = ({ events }: EmailWithHistory) =>
    events.some(({ event }) => event.type === "EmailContentErased");
  fc.assert(
    fc.property(emailsArbitrary, (messages) => {
      withRows(messages, (db) => {
        for (const workspaceId of ["w1", "w2"]) {
          const own = messages.filter(({ options }) => options.workspaceId === workspaceId);
          const remaining = own.filter((message) => !isErased(message));
          expect(contentBytesOf(db, workspaceId)).toBe(CONTENT_BYTES * remaining.length);
        }
      });
    }),
    RUNS,
  );
});

describe("a workspace with very many senders and templates", () => {
  const DAYS = 3;
  /** Of one hour; more than one query looks at, and in all more than a page does. */
  const PAIRS = 4 * ROWS_SCANNED_MAX + 100;
  const FROM = rfc3339(ACCEPTED_AT);
  const BEFORE = rfc3339(ACCEPTED_AT + DAYS * DAY_MS);
  const range = { ownerId: "w", from: FROM, before: BEFORE, by: "day", limit: 2 } as const;

  function withManyRows(check: (db: ReadDatabaseFile) => void): void {
    withRows([], (db) => {
      db.begin();
      for (let pair = 0; pair < DAYS * PAIRS; pair += 1) {
        const acceptedAt = rfc3339(ACCEPTED_AT + (pair % DAYS) * DAY_MS);
        const names = { ownerId: "w", senderId: `s${pair % 7}`, templateId: `t${pair}`, tags: [] };
        countAccepted(db, names, acceptedAt, pair % 2 === 0);
      }
      db.commit();
      check(db);
    });
  }

  test("the total is counted by one query, however many groups it has", () => {
    withManyRows((db) => {
      const { result, stepCount } = run(listUsage(db, { ...range, limit: 25 }));
      expect(stepCount).toBe(1);
      expect(result.next).toBeNull();
      expect(result.rows.map(({ accepted }) => accepted)).toEqual([PAIRS, PAIRS, PAIRS]);
    });
  });

  test("a query examines a bounded number of rows, and a page ends with the bucket that reaches the bound", () => {
    withManyRows((db) => {
      const nothing = { ...range, templateId: "t-none" };
      const { result, stepCount } = run(listUsage(db, nothing));
      expect(stepCount).toBe(Math.ceil((DAYS * PAIRS) / ROWS_SCANNED_MAX));
      expect(result).toEqual({ rows: [], next: null });
      const first = run(listUsage(db, { ...range, groupBy: "sender", limit: 100 })).result;
      expect(first.rows).toHaveLength(7 * DAYS);
      expect(sum(first.rows)).toBe(DAYS * PAIRS);
    });
  });

  test("a group of a day appears once, on whichever page", () => {
    withManyRows((db) => {
      const rows = readPaged((after) =>
        listUsage(db, { ...range, groupBy: "sender", ...(after ? { after } : {}) }),
      );
      expect(rows).toHaveLength(7 * DAYS);
      expect(sum(rows)).toBe(DAYS * PAIRS);
      expect([...rows].sort(newestFirst)).toEqual([...rows]);
    });
  });

  function sum(rows: readonly UsageRow[]): number {
    return rows.reduce((all, { accepted }) => all + accepted, 0);
  }
});

test("a day with very many groups is returned in pages, and no step works on all of them", () => {
  const GROUPS = 10_000;
  const name = (number: number) => `t${String(number).padStart(6, "0")}`;
  withRows([], (db) => {
    db.begin();
    for (let number = 0; number < GROUPS; number += 1) {
      const names = { ownerId: "w", senderId: "s", templateId: name(number), tags: [] };
      // Two hours of the day hold each, so the counts of a group come from rows that lie far apart.
      for (const hour of [0, 1]) {
        const acceptedAt = rfc3339(ACCEPTED_AT + hour * HOUR_MS);
        countAccepted(db, names, acceptedAt, false);
      }
    }
    db.commit();
    const range = { ownerId: "w", from: rfc3339(ACCEPTED_AT), before: rfc3339(ACCEPTED_AT + DAY_MS) };
    const query = { ...range, by: "day", groupBy: "template", limit: 100 } as const;
    const sort = spyOn(Array.prototype, "sort");
    const first = run(listUsage(db, query)).result;
    const sorted = sort.mock.contexts.map((list) => (list as readonly unknown[]).length);
    sort.mockRestore();
    expect(Math.max(...sorted)).toBeLessThanOrEqual(2 * (query.limit + 1));
    expect(first.rows.map(({ group, accepted }) => [group, accepted])).toEqual(
      Array.from({ length: 100 }, (_, number) => [name(number), 2]),
    );
    const after = { start: range.from, group: name(GROUPS - 51) };
    const last = run(listUsage(db, { ...query, after })).result;
    expect(last.rows.map(({ group }) => group)).toEqual(
      Array.from({ length: 50 }, (_, number) => name(GROUPS - 50 + number)),
    );
    expect(last.next).toBeNull();
  });
});

test("a page that has examined enough rows ends with a bucket, and the next page continues after it", () => {
  const HOURS = 15;
  withRows([], (db) => {
    db.begin();
    for (let row = 0; row < HOURS * ROWS_SCANNED_MAX; row += 1) {
      const acceptedAt = rfc3339(ACCEPTED_AT + (row % HOURS) * HOUR_MS);
      const names = { ownerId: "w", senderId: `s${row}`, templateId: row < HOURS ? "t" : null, tags: [] };
      countAccepted(db, names, acceptedAt, false);
    }
    db.commit();
    const range = { ownerId: "w", from: rfc3339(ACCEPTED_AT), by: "hour", limit: 100 } as const;
    const query = { ...range, before: rfc3339(ACCEPTED_AT + HOURS * HOUR_MS), templateId: "t" };
    const { result } = run(listUsage(db, query));
    expect(result.rows).toHaveLength(10);
    expect(result.next).toEqual({ start: rfc3339(ACCEPTED_AT + 5 * HOUR_MS), group: "~" });
    const rows = readPaged((after) => listUsage(db, { ...query, ...(after ? { after } : {}) }));
    expect(rows.map(({ accepted }) => accepted)).toEqual(Array.from({ length: HOURS }, () => 1));
  });
});
