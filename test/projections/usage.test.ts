import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { contentBytesOf, emails } from "../../projections/emails.ts";
import {
  type BouncesQuery,
  type BouncesRow,
  ENDINGS,
  listBounces,
  listUsage,
  type UsagePlace,
  type UsageQuery,
  type UsageRow,
} from "../../projections/usage.ts";
import { sqliteReadDatabases } from "../../src/adapters/sqlite/readDatabase.ts";
import { DELIVERY_POLICY } from "../../src/domain/email/decisions.ts";
import type { EmailEvent } from "../../src/domain/email/events.ts";
import { emailDecider, isTerminal } from "../../src/domain/email/state.ts";
import { DAY_MS, type EpochMs, HOUR_MS, rfc3339 } from "../../src/kernel/time.ts";
import type { ReadDatabase, ReadDatabaseFile } from "../../src/ports/readDatabase.ts";
import { createTables } from "../../src/readModels/generation.ts";
import { ACCEPTED_AT, type Accepting, play, stepsArbitrary } from "../support/emailHistories.ts";

const RUNS = { numRuns: 60 };

interface Told {
  readonly id: string;
  readonly accepting: Required<Pick<Accepting, "as" | "at" | "workspaceId" | "senderId">> & {
    readonly templateId: string | undefined;
  };
  readonly domain: string | undefined;
  readonly events: readonly { readonly at: EpochMs; readonly event: EmailEvent }[];
}

const told: fc.Arbitrary<readonly Told[]> = fc.array(
  fc
    .record({
      id: fc.uuid(),
      accepting: fc.record({
        as: fc.constantFrom("queued", "queued", "queued", "suppressed"),
        at: fc.nat(50).map((hours) => ACCEPTED_AT + hours * HOUR_MS),
        workspaceId: fc.constantFrom("w1", "w1", "w2"),
        senderId: fc.constantFrom("s1", "s2"),
        templateId: fc.constantFrom(undefined, "t1", "t2"),
      }),
      domain: fc.constantFrom(undefined, "one.example", "two.example"),
      steps: stepsArbitrary,
    })
    .map(({ id, accepting, domain, steps }): Told => {
      const { events } = play(accepting.as === "queued" ? steps : [], DELIVERY_POLICY, accepting);
      return {
        id,
        accepting,
        domain,
        events: events.map(({ at, event }) => ({ at, event: placed(event, domain) })),
      };
    }),
  { maxLength: 12, size: "max" },
);

function placed(event: EmailEvent, recipientDomain: string | undefined): EmailEvent {
  if (event.type !== "EmailBounced" || recipientDomain === undefined) return event;
  return { type: "EmailBounced", data: { ...event.data, recipientDomain } };
}

/** Applies the messages' events in the order of their times. */
function withRows(messages: readonly Told[], check: (db: ReadDatabaseFile) => void): void {
  const db = sqliteReadDatabases.open(":memory:", "build");
  try {
    createTables(db, emails, "log");
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
  readonly message: Told;
}

/** What a message counts for, told by its fold alone. */
function countsOf(message: Told): readonly Count[] {
  let state = emailDecider.initialState;
  const counts: Count[] = [{ what: "accepted", at: message.accepting.at, message }];
  for (const { at, event } of message.events) {
    const hadEnded = state !== null && isTerminal(state.status);
    state = emailDecider.evolve(state, event);
    if (state !== null && !hadEnded && isTerminal(state.status))
      counts.push({ what: state.status, at, message });
  }
  return counts;
}

function startOf(at: EpochMs, by: "hour" | "day"): string {
  const size = by === "hour" ? HOUR_MS : DAY_MS;
  return rfc3339(Math.floor(at / size) * size);
}

/** The counts of a query, added up here: newest first, groups in their order. */
function expectedUsage(messages: readonly Told[], query: UsageQuery): readonly UsageRow[] {
  const rows = new Map<string, Record<string, number> & UsagePlace>();
  for (const { what, at, message } of messages.flatMap(countsOf)) {
    const { workspaceId, senderId, templateId = "" } = message.accepting;
    const start = startOf(at, query.by);
    const hour = startOf(at, "hour");
    const isWanted =
      workspaceId === query.workspaceId &&
      hour >= query.from &&
      hour < query.before &&
      (query.senderId ?? senderId) === senderId &&
      (query.templateId ?? templateId) === templateId;
    if (!isWanted) continue;
    const group = { sender: senderId, template: templateId, none: "" }[query.groupBy ?? "none"];
    const none = Object.fromEntries(["accepted", ...ENDINGS].map((name) => [name, 0]));
    const row = rows.get(start + group) ?? ({ ...none, start, group } as Record<string, number> & UsagePlace);
    rows.set(start + group, { ...row, [what]: Number(row[what]) + 1 } as Record<string, number> & UsagePlace);
  }
  return [...rows.values()].sort(newestFirst) as unknown as readonly UsageRow[];
}

function newestFirst(one: UsagePlace, other: UsagePlace): number {
  if (one.start !== other.start) return one.start < other.start ? 1 : -1;
  return one.group < other.group ? -1 : 1;
}

function expectedBounces(messages: readonly Told[], query: BouncesQuery): readonly BouncesRow[] {
  const rows = new Map<string, BouncesRow>();
  for (const { what, at, message } of messages.flatMap(countsOf)) {
    const group = message.domain ?? "";
    const hour = startOf(at, "hour");
    const isOurs = message.accepting.workspaceId === query.workspaceId && (query.domain ?? group) === group;
    if (what !== "bounced" || !isOurs || hour < query.from || hour >= query.before) continue;
    const start = startOf(at, query.by);
    rows.set(start + group, { start, group, bounced: (rows.get(start + group)?.bounced ?? 0) + 1 });
  }
  return [...rows.values()].sort(newestFirst);
}

/** All rows of a list, fetched a page at a time. */
function inPages<Row extends UsagePlace>(
  page: (after: UsagePlace | undefined) => readonly Row[],
): readonly Row[] {
  const rows: Row[] = [];
  for (;;) {
    const next = page(rows.at(-1));
    if (next.length === 0) return rows;
    rows.push(...next);
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
    return { workspaceId: "w1", from: rfc3339(start), before: rfc3339(start + hours * HOUR_MS), by, limit };
  });
const filters = fc.record(
  {
    senderId: fc.constantFrom("s1", "s2"),
    templateId: fc.constantFrom("t1", "t2"),
    groupBy: fc.constantFrom("sender" as const, "template" as const),
  },
  { requiredKeys: [] },
);

describe("usage of random logs (properties):", () => {
  test("every message counts once as accepted and once for its end, in the hour of each", () => {
    fc.assert(
      fc.property(told, ranges, filters, (messages, range, filter) => {
        withRows(messages, (db) => {
          const query = { ...range, ...filter };
          const rows = inPages((after) => listUsage(db, { ...query, ...(after ? { after } : {}) }));
          expect(rows).toEqual(expectedUsage(messages, query) as UsageRow[]);
        });
      }),
      RUNS,
    );
  });

  test("bounces are those that ended a message, by the domain that the event names", () => {
    fc.assert(
      fc.property(
        told,
        ranges,
        fc.constantFrom(undefined, "one.example", "two.example"),
        (messages, range, domain) => {
          withRows(messages, (db) => {
            const query = { ...range, ...(domain === undefined ? {} : { domain }) };
            const rows = inPages((after) => listBounces(db, { ...query, ...(after ? { after } : {}) }));
            expect(rows).toEqual(expectedBounces(messages, query) as BouncesRow[]);
          });
        },
      ),
      RUNS,
    );
  });
});

function total(db: ReadDatabase, sql: string): number {
  return Number(db.get(sql)?.total);
}

test("what was accepted is what has ended and what waits", () => {
  fc.assert(
    fc.property(told, (messages) => {
      withRows(messages, (db) => {
        const ended = total(db, `SELECT sum(${ENDINGS.join(" + ")}) AS total FROM usage`);
        const waiting = total(
          db,
          "SELECT count(*) AS total FROM emails WHERE status IN ('queued', 'sending', 'deferred')",
        );
        expect(total(db, "SELECT sum(accepted) AS total FROM usage")).toBe(ended + waiting);
      });
    }),
    RUNS,
  );
});

test("the content of a workspace is that of its messages which was not erased", () => {
  /** What every message of these histories has. */
  const CONTENT_BYTES = 2;
  const isErased = ({ events }: Told) => events.some(({ event }) => event.type === "EmailContentErased");
  fc.assert(
    fc.property(told, (messages) => {
      withRows(messages, (db) => {
        for (const workspaceId of ["w1", "w2"]) {
          const own = messages.filter(({ accepting }) => accepting.workspaceId === workspaceId);
          const kept = own.filter((message) => !isErased(message));
          expect(contentBytesOf(db, workspaceId)).toBe(CONTENT_BYTES * kept.length);
        }
      });
    }),
    RUNS,
  );
});
