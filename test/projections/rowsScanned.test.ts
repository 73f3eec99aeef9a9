import { describe, expect, test } from "bun:test";
import { attachments, listAttachments } from "../../projections/attachments.ts";
import { emails } from "../../projections/emails/emails.ts";
import { overdueEmails } from "../../projections/emails/mailQueue.ts";
import {
  emailsToRecipient,
  listEmails,
  oldContent,
  workspacesRetaining,
} from "../../projections/emails/queries.ts";
import { type KeysetCursor, ROWS_SCANNED_MAX, type RowPage } from "../../projections/keysetPagination.ts";
import type { Projection } from "../../projections/projection.ts";
import { insertInto } from "../../projections/sqlListsAndInserts.ts";
import { listSuppressions, suppressions } from "../../projections/suppressions.ts";
import {
  failedWebhooks,
  listWebhookDeliveries,
  retryingWebhooks,
  type WebhookDeliveryRow,
} from "../../projections/webhookDeliveries/queries.ts";
import { webhookDeliveries } from "../../projections/webhookDeliveries/webhookDeliveries.ts";
import { rfc3339 } from "../../src/kernel/time.ts";
import type { ReadDatabase, ReadDatabaseFile, SqlValue } from "../../src/ports/readDatabase.ts";
import { emptyReadModel } from "../support/emptyReadModel.ts";

/** More rows than one query examines, and not a multiple of that. */
const ROWS = 2 * ROWS_SCANNED_MAX + 300;
const START = Date.parse("2030-01-01T12:00:00Z");
const LIMIT = 25;

function withTables(projection: Projection, check: (db: ReadDatabaseFile) => void): void {
  const db = emptyReadModel(projection);
  try {
    check(db);
  } finally {
    db.close();
  }
}

type Row = Readonly<Record<string, SqlValue>>;

/** Inserts a row of workspace `w`. What it leaves out is 0, or null where that is allowed. */
function insert(db: ReadDatabaseFile, table: string, row: Row): void {
  const needed = db.all(`SELECT name FROM pragma_table_info(?) WHERE "notnull" = 1`, table);
  const whole: Row = {
    ...Object.fromEntries(needed.map(({ name }) => [String(name), name === "workspace_id" ? "w" : 0])),
    ...row,
  };
  insertInto(table, Object.keys(whole))(db, whole);
}

/** Fills a table with rows, one a second. */
function fill(db: ReadDatabaseFile, table: string, rowOf: (number: number) => Row): void {
  db.begin();
  for (let number = 0; number < ROWS; number += 1)
    insert(db, table, { id: `row${number}`, created_at: rfc3339(START + number * 1_000), ...rowOf(number) });
  db.commit();
}

type Page = { readonly after?: KeysetCursor; readonly limit: number };

/** A list filtered so that only row 0, the oldest, matches. */
interface Case {
  readonly name: string;
  readonly projection: Projection;
  readonly fill: (db: ReadDatabaseFile) => void;
  readonly list: (db: ReadDatabase, page: Page) => RowPage<KeysetCursor>;
}

const cases: readonly Case[] = [
  {
    name: "messages by a status that most have not",
    projection: emails,
    fill: (db) =>
      fill(db, "emails", (n) => ({
        status: n === 0 ? "sending" : "sent",
        sender_id: "s",
        recipient_hash: `r${n}`,
      })),
    list: (db, page) => listEmails(db, { ownerId: "w", statuses: ["sending"], ...page }),
  },
  {
    name: "messages by several statuses",
    projection: emails,
    fill: (db) =>
      fill(db, "emails", (n) => ({
        status: n === 0 ? "failed" : "sent",
        sender_id: "s",
        recipient_hash: `r${n}`,
      })),
    list: (db, page) => listEmails(db, { ownerId: "w", statuses: ["sending", "failed"], ...page }),
  },
  {
    name: "messages by a reason",
    projection: emails,
    fill: (db) =>
      fill(db, "emails", (n) => ({
        status: "bounced",
        reason: n === 0 ? "mailbox_full" : "recipient_refused",
        sender_id: "s",
        recipient_hash: `r${n}`,
      })),
    list: (db, page) => listEmails(db, { ownerId: "w", reasons: ["mailbox_full", "no_route"], ...page }),
  },
  {
    name: "messages of a sender by a status",
    projection: emails,
    fill: (db) =>
      fill(db, "emails", (n) => ({
        status: n === 0 ? "sending" : "sent",
        sender_id: "s",
        recipient_hash: `r${n}`,
      })),
    list: (db, page) => listEmails(db, { ownerId: "w", senderId: "s", statuses: ["sending"], ...page }),
  },
  {
    name: "messages of a recipient by a sender",
    projection: emails,
    fill: (db) =>
      fill(db, "emails", (n) => ({ status: "sent", sender_id: n === 0 ? "s0" : "s1", recipient_hash: "r" })),
    list: (db, page) => listEmails(db, { ownerId: "w", recipientHash: "r", senderId: "s0", ...page }),
  },
  {
    name: "messages that bounced, by a sender",
    projection: emails,
    fill: (db) =>
      fill(db, "emails", (n) => ({
        status: "bounced",
        sender_id: n === 0 ? "s0" : "s1",
        recipient_hash: `r${n}`,
      })),
    list: (db, page) => listEmails(db, { ownerId: "w", statuses: ["bounced"], senderId: "s0", ...page }),
  },
  {
    name: "messages with a pair of metadata by a status",
    projection: emails,
    fill: (db) => {
      fill(db, "emails", (n) => ({ status: n === 0 ? "queued" : "sent" }));
      fill(db, "email_metadata", () => ({ pair: "p" }));
    },
    list: (db, page) => listEmails(db, { ownerId: "w", metadata: ["p"], statuses: ["queued"], ...page }),
  },
  {
    name: "uploads by a status",
    projection: attachments,
    fill: (db) => fill(db, "attachments", (n) => ({ status: n === 0 ? "rejected" : "ready" })),
    list: (db, page) => listAttachments(db, { workspaceId: "w", status: "rejected", ...page }),
  },
  {
    name: "deliveries by a type of event",
    projection: webhookDeliveries,
    fill: (db) => fillDeliveries(db, (n) => ["delivered", n === 0 ? "email.failed" : "email.sent"]),
    list: (db, page) => listWebhookDeliveries(db, { endpointId: "p", eventType: "email.failed", ...page }),
  },
  {
    name: "deliveries that failed, by a type of event",
    projection: webhookDeliveries,
    fill: (db) => fillDeliveries(db, (n) => ["exhausted", n === 0 ? "email.failed" : "email.sent"]),
    list: (db, page) =>
      listWebhookDeliveries(db, { endpointId: "p", status: "exhausted", eventType: "email.failed", ...page }),
  },
];

function fillDeliveries(db: ReadDatabaseFile, originOf: (number: number) => readonly [string, string]): void {
  fill(db, "deliveries", (n) => {
    const [status, eventType] = originOf(n);
    return { id: `d${n}`, endpoint_id: "p", status, event_type: eventType };
  });
}

interface Query {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** Every query that `ask` makes. */
function queriesOf(db: ReadDatabaseFile, ask: (db: ReadDatabase) => unknown): readonly Query[] {
  const queries: Query[] = [];
  ask({
    run: db.run,
    get(sql, ...values) {
      queries.push({ sql, values });
      return db.get(sql, ...values);
    },
    all(sql, ...values) {
      queries.push({ sql, values });
      return db.all(sql, ...values);
    },
  });
  return queries;
}

/** What SQLite would do for every query that `ask` makes. */
function queryPlans(db: ReadDatabaseFile, ask: (db: ReadDatabase) => unknown): readonly string[] {
  const explain = ({ sql, values }: Query) => db.all(`EXPLAIN QUERY PLAN ${sql}`, ...values);
  return queriesOf(db, ask).flatMap((query) => explain(query).map(({ detail }) => String(detail)));
}

test("a list within a range of times walks no rows outside of it, before its cursor, or beyond what it may examine", () => {
  withTables(emails, (db) => {
    fill(db, "emails", () => ({ status: "sent", sender_id: "s" }));
    const at = (row: number) => rfc3339(START + row * 1_000);
    const [first, last] = [100, ROWS - 100];
    const range = { createdFrom: at(first), createdBefore: at(last) };
    const ask = (seen: ReadDatabase, cursor: number | null, senderId: string) => {
      const after = cursor === null ? {} : { after: { id: `row${cursor}`, createdAt: at(cursor) } };
      return listEmails(seen, { ownerId: "w", senderId, limit: LIMIT, ...range, ...after });
    };
    const newest = (cursor: number | null) => ask(db, cursor, "s").rows[0]?.id;
    expect([null, last + 1, last, last - 1, first].map(newest)).toEqual([
      ...[`row${last - 1}`, `row${last - 1}`, `row${last - 1}`, `row${last - 2}`],
      undefined,
    ]);
    expect(ask(db, first + LIMIT, "s")).toMatchObject({ rows: { length: LIMIT }, next: null });
    expect(ask(db, null, "other").next?.createdAt).toBe(at(last - ROWS_SCANNED_MAX));
    // SQLite walks an index from one bound to one other, and only looks at further ones in each row.
    for (const cursor of [null, last + 1, last - 1]) {
      for (const { sql } of queriesOf(db, (seen) => ask(seen, cursor, "other"))) {
        const bounds = sql.matchAll(/created_at(?:, rowid\))? ([<>])/g).map(([, sign]) => sign);
        expect([...bounds].toSorted()).toEqual(["<", ">"]);
      }
    }
  });
});

test("messages past their deadline are found by its index, past those that have none or a later one", () => {
  withTables(emails, (db) => {
    fill(db, "emails", (n) => ({
      queue: "ready",
      deliver_before: n === 0 ? START : n === 1 ? START + 1 : null,
    }));
    expect(overdueEmails(db, START, LIMIT).map(({ id }) => id)).toEqual(["row0"]);
    const plans = queryPlans(db, (watched) => overdueEmails(watched, START, LIMIT));
    expect(plans).toEqual([
      expect.stringMatching(/^SEARCH emails USING INDEX mail_queue_by_deadline \(deliver_before<\?\)$/),
    ]);
  });
});

test("content to erase is found by its index, past messages that are not old enough", () => {
  withTables(emails, (db) => {
    const before = rfc3339(START);
    fill(db, "emails", (n) => ({ is_retained: 1, scheduled_at: n === 0 ? null : rfc3339(START + 1_000) }));
    expect(oldContent(db, "w", before, LIMIT)).toEqual(["row0"]);
    expect(workspacesRetaining(db)).toEqual([{ ownerId: "w", since: before }]);
    const plans = queryPlans(db, (watched) => {
      oldContent(watched, "w", before, LIMIT);
      workspacesRetaining(watched);
    });
    const reads = plans.filter((plan) => /\bemails\b/.test(plan));
    expect(reads.length).toBeGreaterThan(1);
    for (const plan of reads) expect(plan).toMatch(/^SEARCH emails USING (COVERING )?INDEX emails_retained/);
    expect(plans.filter((plan) => plan.includes("TEMP B-TREE"))).toEqual([]);
  });
});

describe.each(cases)("a list of $name", ({ projection, fill: fillTable, list }) => {
  test("examines a bounded number of rows per query, and returns where to continue", () => {
    withTables(projection, (db) => {
      fillTable(db);
      const found: KeysetCursor[] = [];
      let queries = 0;
      let after: KeysetCursor | null = null;
      do {
        const page: RowPage<KeysetCursor> = list(db, { limit: LIMIT, ...(after ? { after } : {}) });
        queries += 1;
        found.push(...page.rows);
        // Each query examines its full number of rows, none of them twice.
        const scannedMs = (page.next ? Date.parse(page.next.createdAt) : START) - START;
        if (page.next) expect(scannedMs).toBe((ROWS - queries * ROWS_SCANNED_MAX) * 1_000);
        after = page.next;
      } while (after !== null);
      expect(queries).toBe(Math.ceil(ROWS / ROWS_SCANNED_MAX));
      expect(found.map(({ createdAt }) => createdAt)).toEqual([rfc3339(START)]);
    });
  });

  test("walks an index, without sorting", () => {
    withTables(projection, (db) => {
      const after = { createdAt: rfc3339(START), id: "x" };
      const plans = queryPlans(db, (seen) => list(seen, { limit: LIMIT, after }));
      expect(plans.join("\n")).not.toMatch(/TEMP B-TREE|SCAN/);
      expect(plans[0]).toMatch(/created_at</);
    });
  });
});

test("deliveries that are looked up by their ids are found at once, however many there are", () => {
  withTables(webhookDeliveries, (db) => {
    fillDeliveries(db, () => ["delivered", "email.sent"]);
    const query = { endpointId: "p", ids: ["d0", "d1", "none"], limit: 1 };
    const first = listWebhookDeliveries(db, query);
    expect(first.rows.map(({ id }) => id)).toEqual(["d1"]);
    const second = listWebhookDeliveries(db, { ...query, ...(first.next ? { after: first.next } : {}) });
    expect(second).toEqual({ rows: [expect.objectContaining({ id: "d0" })], next: null });
    expect(listWebhookDeliveries(db, { ...query, endpointId: "other" }).rows).toEqual([]);
    const plans = queryPlans(db, (seen) => listWebhookDeliveries(seen, query));
    expect(plans.join("\n")).toContain("SEARCH deliveries USING INDEX sqlite_autoindex_deliveries_1 (id=?)");
    expect(plans.join("\n")).not.toMatch(/SCAN deliveries/);
  });
});

test("suppressions of a reason are found by an index", () => {
  withTables(suppressions, (db) => {
    const after = { createdAt: rfc3339(START), id: "s" };
    const query = { workspaceId: "w", reason: "manual", after, limit: LIMIT };
    const plans = queryPlans(db, (seen) => listSuppressions(seen, query));
    expect(plans.join("\n")).not.toMatch(/TEMP B-TREE|SCAN/);
    expect(plans[0]).toMatch(/suppressions_by_reason .*reason=. AND created_at</);
  });
});

test("messages of several rare statuses fill every page and keep their order, also within one time", () => {
  withTables(emails, (db) => {
    const statuses = ["bounced", "failed", "canceled"];
    // Three in a thousand rows, of the same time.
    const statusOf = (n: number) => (n % 1_000 < 3 ? statuses[n % 1_000] : "sent");
    const timeOf = (n: number) => rfc3339(START + Math.floor(n / 1_000) * 1_000);
    fill(db, "emails", (n) => ({
      ...{ status: statusOf(n) ?? "", created_at: timeOf(n) },
      ...{ sender_id: "s", recipient_hash: `r${n}` },
    }));
    const numbers = Array.from({ length: ROWS }, (_, n) => ROWS - 1 - n);
    const wanted = numbers.filter((n) => statusOf(n) !== "sent").map((n) => `row${n}`);
    const walk = (limit: number) => {
      const pages: (readonly string[])[] = [];
      let after: KeysetCursor | null = null;
      do {
        const page: RowPage<KeysetCursor> = listEmails(db, {
          ...{ ownerId: "w", statuses, limit },
          ...(after ? { after } : {}),
        });
        pages.push(page.rows.map(({ id }) => id));
        after = page.next;
      } while (after !== null);
      return pages;
    };
    for (const limit of [1, 2, 5, LIMIT]) {
      const pages = walk(limit);
      expect(pages.flat()).toEqual(wanted);
      expect(pages.map(({ length }) => length).slice(0, -1)).toEqual(pages.slice(0, -1).map(() => limit));
    }
    const plans = queryPlans(db, (seen) => listEmails(seen, { ownerId: "w", statuses, limit: LIMIT }));
    expect(plans.join("\n")).not.toMatch(/TEMP B-TREE|SCAN/);
  });
});

test("messages with a reason are found among those that have one", () => {
  withTables(emails, (db) => {
    fill(db, "emails", (n) => ({
      ...{ status: n === 0 ? "bounced" : "sent", reason: n === 0 ? "mailbox_full" : null },
      ...{ sender_id: "s", recipient_hash: `r${n}` },
    }));
    const query = { ownerId: "w", reasons: ["mailbox_full"], limit: LIMIT };
    const isOldest = { rows: [expect.objectContaining({ id: "row0" })], next: null };
    expect(listEmails(db, query)).toEqual(isOldest);
    expect(listEmails(db, { ...query, statuses: ["sent", "bounced"] })).toEqual(isOldest);
    // Nothing that was sent has a reason.
    expect(listEmails(db, { ...query, statuses: ["sent"] })).toEqual({ rows: [], next: null });
  });
});

test("messages of a recipient are found by an index, also oldest first", () => {
  withTables(emails, (db) => {
    const recipient = { workspaceId: "w", recipientHash: "r" };
    const plans = queryPlans(db, (seen) => {
      listEmails(seen, { ownerId: "w", ...recipient, limit: LIMIT });
      emailsToRecipient(seen, recipient, { createdAt: rfc3339(START), id: "e" }, LIMIT);
    });
    expect(plans.filter((plan) => plan.includes("emails_by_recipient (<expr>=?"))).toHaveLength(3);
    expect(plans.join("\n")).not.toMatch(/TEMP B-TREE|SCAN/);
  });
});

const WAITING = ["queued", "scheduled", "deferred"];

test.each([
  ["queued", { queue: "ready" }],
  ["held", { queue: "held", held: 1 }],
] as const)("messages that wait are found behind any number that were sent: %s", (_, columns) => {
  withTables(emails, (db) => {
    const waiting = (n: number) => n === ROWS - 1 || n === ROWS - 2;
    fill(db, "emails", (n) => (waiting(n) ? { status: "queued", ...columns } : { status: "sent" }));
    insert(db, "emails", { id: "deferred", created_at: rfc3339(START), status: "deferred" });
    const seen = new Set<string>();
    let queries = 0;
    for (let after: KeysetCursor | null | undefined; after !== null; queries += 1) {
      const query = { ownerId: "w", statuses: WAITING, limit: LIMIT, ...(after ? { after } : {}) };
      const page = listEmails(db, query);
      for (const { id } of page.rows) seen.add(id);
      after = page.next;
    }
    expect([...seen]).toEqual([`row${ROWS - 1}`, `row${ROWS - 2}`, "deferred"]);
    expect(queries).toBe("held" in columns ? Math.ceil(ROWS / ROWS_SCANNED_MAX) : 1);
  });
});

test("messages with a common tag and a rare pair of metadata are found by the pair, in one query", () => {
  withTables(emails, (db) => {
    fill(db, "emails", () => ({ status: "sent" }));
    fill(db, "email_tags", () => ({ tag: "g" }));
    fill(db, "email_metadata", () => ({ pair: "common" }));
    insert(db, "email_metadata", { id: "row0", pair: "rare", created_at: rfc3339(START) });
    const query = { ownerId: "w", metadata: ["common", "rare"], tag: "g", limit: LIMIT };
    expect(listEmails(db, query)).toEqual({ rows: [expect.objectContaining({ id: "row0" })], next: null });
    const plans = queryPlans(db, (seen) => listEmails(seen, query));
    expect(plans.join("\n")).not.toMatch(/TEMP B-TREE|SCAN (email|marked)/);
  });
});

test("two recipients whose hashes begin alike are distinguished", () => {
  withTables(emails, (db) => {
    const begin = "0123456789ab";
    for (const [id, hash] of Object.entries({ one: `${begin}c`, other: `${begin}d` })) {
      insert(db, "emails", { id, recipient_hash: hash, created_at: rfc3339(START) });
    }
    const recipient = { workspaceId: "w", recipientHash: `${begin}d` };
    expect(listEmails(db, { ownerId: "w", ...recipient, limit: LIMIT }).rows.map(({ id }) => id)).toEqual([
      "other",
    ]);
    expect(emailsToRecipient(db, recipient, null, LIMIT).found.map(({ id }) => id)).toEqual(["other"]);
  });
});

test("failed deliveries are walked in parts, each once", () => {
  withTables(webhookDeliveries, (db) => {
    fillDeliveries(db, (n) => [n % 2 === 0 ? "skipped" : "delivered", "email.sent"]);
    const endpoint = { endpointId: "p", since: rfc3339(START) };
    const found: KeysetCursor[] = [];
    for (;;) {
      const page = failedWebhooks(db, endpoint, found.at(-1) ?? null, LIMIT);
      found.push(...page);
      if (page.length < LIMIT) break;
    }
    expect(found.map(({ id }) => id)).toEqual(
      Array.from({ length: ROWS }, (_, n) => n)
        .filter((n) => n % 2 === 0)
        .map((n) => `d${n}`),
    );
    const plans = queryPlans(db, (seen) => failedWebhooks(seen, endpoint, found[0] ?? null, LIMIT));
    expect(plans.join("\n")).not.toMatch(/TEMP B-TREE|SCAN/);
  });
});

test("deliveries that wait for their next attempt are walked in parts, each once, without those that are due", () => {
  withTables(webhookDeliveries, (db) => {
    fillDeliveries(db, () => ["pending", "email.sent"]);
    db.run("UPDATE deliveries SET state = 'ready', attempts = 1, due_at = 1 + rowid / 3");
    const endpoint = { endpointId: "p", since: rfc3339(START), now: 5 };
    const found: WebhookDeliveryRow[] = [];
    for (;;) {
      const page = retryingWebhooks(db, endpoint, found.at(-1) ?? null, LIMIT);
      found.push(...page);
      if (page.length < LIMIT) break;
    }
    const waiting = db.all("SELECT id FROM deliveries WHERE due_at > 5 ORDER BY rowid");
    expect(found.map(({ id }) => id)).toEqual(waiting.map(({ id }) => id as string));
    const plans = queryPlans(db, (seen) => retryingWebhooks(seen, endpoint, found[0] ?? null, LIMIT));
    expect(plans.join("\n")).not.toMatch(/TEMP B-TREE|SCAN/);
  });
});
