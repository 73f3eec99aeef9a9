import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { activeApiKeys, apiKeys, listApiKeys } from "../../projections/apiKeys.ts";
import { emails, emailsOfDay } from "../../projections/emails.ts";
import type { Projection } from "../../projections/projection.ts";
import { listSuppressions, suppressions } from "../../projections/suppressions.ts";
import { sqliteReadDatabases } from "../../src/adapters/sqlite/readDatabase.ts";
import { issueApiKey, revokeApiKey } from "../../src/domain/apiKey/decisions.ts";
import { apiKeyStream } from "../../src/domain/apiKey/events.ts";
import { type ApiKey, type ApiKeyState, apiKeyDecider, isUsable } from "../../src/domain/apiKey/state.ts";
import { ACCEPTANCE_REVISION, emailStream } from "../../src/domain/email/events.ts";
import { suppress, unsuppress } from "../../src/domain/suppression/decisions.ts";
import { suppressionStream } from "../../src/domain/suppression/events.ts";
import { type SuppressionState, suppressionDecider } from "../../src/domain/suppression/state.ts";
import type { DomainEvent } from "../../src/kernel/decider.ts";
import { HOUR_MS, rfc3339 } from "../../src/kernel/time.ts";
import type { ProjectedEvent, ReadDatabaseFile } from "../../src/ports/readDatabase.ts";
import { createTables } from "../../src/readModels/generation.ts";

const RUNS = { numRuns: 100 };
const START = Date.parse("2030-01-01T20:00:00Z");

/** A log that is written event by event; every stream has its own revisions. */
class Log {
  readonly events: ProjectedEvent[] = [];
  readonly #next = new Map<string, number>();

  /** Answers the id that the last of the events got. */
  append(stream: string, at: number, events: readonly DomainEvent[]): string {
    for (const { type, data } of events) {
      const revision = this.revision(stream) + 1;
      this.#next.set(stream, revision);
      const stored = JSON.parse(JSON.stringify(data)) as object;
      const id = crypto.randomUUID();
      this.events.push({ stream, revision, id, type, data: stored, metadata: { at: rfc3339(at) } });
    }
    return this.events.at(-1)?.id ?? "";
  }

  revision(stream: string): number {
    return this.#next.get(stream) ?? -1;
  }
}

function projected(projection: Projection, log: Log, check: (db: ReadDatabaseFile) => void): void {
  const db = sqliteReadDatabases.open(":memory:", "build");
  try {
    createTables(db, projection, "log");
    for (const event of log.events) if (projection.events.includes(event.type)) projection.apply(event, db);
    check(db);
  } finally {
    db.close();
  }
}

/** All rows, page by page, each page after the last row of the one before. */
function allPages<Row extends { readonly id: string; readonly createdAt: string }>(
  limit: number,
  page: (after: { after?: { createdAt: string; id: string } }) => readonly Row[],
): Row[] {
  const rows: Row[] = [];
  for (;;) {
    const last = rows.at(-1);
    const found = page(last ? { after: { createdAt: last.createdAt, id: last.id } } : {});
    expect(found.length).toBeLessThanOrEqual(limit);
    rows.push(...found);
    if (found.length < limit) return rows;
  }
}

const newestFirst = (
  one: { readonly createdAt: string; readonly id: string },
  other: { readonly createdAt: string; readonly id: string },
) => (`${one.createdAt} ${one.id}` < `${other.createdAt} ${other.id}` ? 1 : -1);

describe("suppressions", () => {
  const step = fc.record({
    workspaceId: fc.constantFrom("w1", "w2"),
    recipientHash: fc.constantFrom("r1", "r2", "r3", "r4"),
    reason: fc.constantFrom("bounce", "manual"),
    isLift: fc.boolean(),
    wait: fc.nat(1),
  });
  const filters = fc.record(
    {
      reason: fc.constantFrom("bounce", "manual"),
      createdFrom: fc.nat(20).map((ms) => rfc3339(START + ms)),
      createdBefore: fc.nat(20).map((ms) => rfc3339(START + ms)),
    },
    { requiredKeys: [] },
  );

  test("are listed as their streams have them, newest first, each once over all pages (property)", () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 40 }),
        filters,
        fc.integer({ min: 1, max: 4 }),
        (steps, filter, limit) => {
          const log = new Log();
          const states = new Map<string, SuppressionState>();
          const expected = new Map<string, Record<string, unknown> & { id: string; createdAt: string }>();
          let at = START;
          for (const { workspaceId, recipientHash: hash, reason, isLift, wait } of steps) {
            at += wait;
            const recipientHash = `${workspaceId}${hash}`;
            const stream = suppressionStream(recipientHash);
            const state = states.get(stream) ?? null;
            const facts = { workspaceId, recipientHash, reason };
            const { events } = isLift
              ? unsuppress(state)
              : suppress(state, { address: "ana@example.com" }, facts);
            if (events.length === 0) continue;
            states.set(stream, events.reduce(suppressionDecider.evolve, state));
            const id = log.append(stream, at, events);
            const createdAt = rfc3339(at);
            if (isLift) expected.delete(stream);
            else
              expected.set(stream, {
                id,
                recipientHash,
                createdAt,
                revision: log.revision(stream),
                workspaceId,
                reason,
              });
          }
          projected(suppressions, log, (db) => {
            for (const workspaceId of ["w1", "w2", "w3"]) {
              const matching = [...expected.values()]
                .filter((row) => row.workspaceId === workspaceId)
                .filter((row) => filter.reason === undefined || row.reason === filter.reason)
                .filter(
                  (row) =>
                    row.createdAt >= (filter.createdFrom ?? "") &&
                    row.createdAt < (filter.createdBefore ?? "~"),
                )
                .map(({ workspaceId: _workspace, reason: _reason, ...row }) => row)
                .sort(newestFirst);
              const found = allPages(limit, (after) =>
                listSuppressions(db, { workspaceId, ...filter, ...after, limit }),
              );
              expect(found as unknown).toEqual(matching);
            }
          });
        },
      ),
      RUNS,
    );
  });
});

describe("API keys", () => {
  const step = fc.record({
    workspaceId: fc.constantFrom("w1", "w2"),
    id: fc.constantFrom("k1", "k2", "k3", "k4", "k5", "k6"),
    expiresInMs: fc.option(fc.integer({ min: 1, max: 20 }), { nil: null }),
    scopes: fc.subarray(["email:send", "email:read"]),
    isRevoked: fc.boolean(),
    wait: fc.nat(1),
  });

  test("are listed and counted as their streams have them (property)", () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 30 }),
        fc.nat(25),
        fc.integer({ min: 1, max: 4 }),
        (steps, later, limit) => {
          const log = new Log();
          const known = new Map<string, { readonly key: ApiKey; readonly createdAt: string }>();
          let at = START;
          for (const { workspaceId, id, expiresInMs, scopes, isRevoked, wait } of steps) {
            at += wait;
            const state: ApiKeyState = known.get(id)?.key ?? null;
            const expiry = expiresInMs === null ? {} : { expiresAt: rfc3339(at + expiresInMs) };
            const issued = { workspaceId, name: `key ${at}`, hash: "5ecret", scopes, ...expiry };
            const { events } = isRevoked ? revokeApiKey(state) : issueApiKey(state, issued);
            const key = events.reduce(apiKeyDecider.evolve, state);
            if (events.length > 0) log.append(apiKeyStream(id), at, events);
            if (key !== null) known.set(id, { key, createdAt: known.get(id)?.createdAt ?? rfc3339(at) });
          }
          const now = START + later;
          projected(apiKeys, log, (db) => {
            for (const workspaceId of ["w1", "w2", "w3"]) {
              const own = [...known].filter(([, { key }]) => key.workspaceId === workspaceId);
              const expected = own
                .map(([id, { key, createdAt }]) => ({
                  id,
                  name: key.name,
                  scopes: [...key.scopes],
                  expiresAt: key.expiresAt === null ? null : rfc3339(key.expiresAt),
                  revoked: key.revoked,
                  createdAt,
                }))
                .sort(newestFirst);
              const found = allPages(limit, (after) => listApiKeys(db, { workspaceId, ...after, limit }));
              expect(found).toEqual(expected);
              const active = own.filter(([, { key }]) => isUsable(key, now)).length;
              expect(activeApiKeys(db, workspaceId, rfc3339(now))).toBe(active);
            }
            expect(JSON.stringify(db.all("SELECT * FROM api_keys"))).not.toContain("5ecret");
          });
        },
      ),
      RUNS,
    );
  });
});

describe("messages of a day", () => {
  const accepted = fc.record({
    workspaceId: fc.constantFrom("w1", "w2"),
    hours: fc.nat(60),
    type: fc.constantFrom("EmailQueued", "EmailSuppressed"),
    endsSuppressed: fc.boolean(),
  });

  test("are those accepted on it, suppressed ones as well, each once (property)", () => {
    fc.assert(
      fc.property(fc.array(accepted, { maxLength: 40 }), (messages) => {
        const log = new Log();
        for (const [index, { workspaceId, hours, type, endsSuppressed }] of messages.entries()) {
          const stream = emailStream(String(index));
          const at = START + hours * HOUR_MS;
          const facts = { senderId: "s", recipientHash: "r", fingerprint: "f", contentEventId: "c" };
          const sizes = { contentDigest: "d", contentBytes: 1, acceptedAt: rfc3339(at) };
          const reason = type === "EmailSuppressed" ? { reason: "recipient_suppressed" } : {};
          log.append(stream, at, [{ type: "EmailContentStored", data: { salt: "s" } }]);
          log.append(stream, at, [{ type, data: { workspaceId, ...facts, ...sizes, ...reason } }]);
          expect(log.revision(stream)).toBe(ACCEPTANCE_REVISION);
          if (type === "EmailQueued" && endsSuppressed) {
            const late = { reason: "recipient_suppressed", attempt: 1 };
            log.append(stream, at + HOUR_MS, [{ type: "EmailSuppressed", data: late }]);
          }
        }
        projected(emails, log, (db) => {
          for (const workspaceId of ["w1", "w2", "w3"])
            for (let hours = 0; hours <= 72; hours += 1) {
              const at = rfc3339(START + hours * HOUR_MS);
              const expected = messages.filter(
                (message) =>
                  message.workspaceId === workspaceId &&
                  rfc3339(START + message.hours * HOUR_MS).slice(0, 10) === at.slice(0, 10),
              );
              expect(emailsOfDay(db, workspaceId, at)).toBe(expected.length);
            }
        });
      }),
      RUNS,
    );
  });
});
