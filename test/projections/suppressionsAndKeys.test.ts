import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type ApiKeyRow,
  apiKeys,
  countActiveApiKeys,
  keyIdsOfPerson,
  listApiKeys,
} from "../../projections/apiKeys.ts";
import { emails } from "../../projections/emails/emails.ts";
import type { Projection } from "../../projections/projection.ts";
import { listSuppressions, type SuppressionRow, suppressions } from "../../projections/suppressions.ts";
import { issueApiKey, renameApiKey, revokeApiKey } from "../../src/domain/apiKey/decisions.ts";
import { apiKeyStream } from "../../src/domain/apiKey/events.ts";
import { type ApiKey, type ApiKeyState, apiKeyDecider, isUsable } from "../../src/domain/apiKey/state.ts";
import { ACCEPTANCE_REVISION, emailStream } from "../../src/domain/email/events.ts";
import { suppress, unsuppress } from "../../src/domain/suppression/decisions.ts";
import { suppressionStream } from "../../src/domain/suppression/events.ts";
import { type SuppressionState, suppressionDecider } from "../../src/domain/suppression/state.ts";
import type { DomainEvent } from "../../src/kernel/event/decider.ts";
import { HOUR_MS, rfc3339 } from "../../src/kernel/time.ts";
import type { ProjectedEvent, ReadDatabaseFile } from "../../src/ports/readDatabase.ts";
import { emptyReadModel } from "../support/emptyReadModel.ts";
import { acceptedOnDay } from "./acceptedOnDay.ts";

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
  const db = emptyReadModel(projection);
  try {
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

/** The rows after all events in log order, as a list shows them. */
function newestFirst<Row extends { readonly createdAt: string }>(rows: readonly Row[]): Row[] {
  return rows.toReversed().sort((one, other) => Date.parse(other.createdAt) - Date.parse(one.createdAt));
}

interface SuppressionStep {
  readonly workspaceId: string;
  readonly hash: string;
  readonly reason: string;
  readonly isLift: boolean;
  readonly wait: number;
}

interface SuppressionModel extends SuppressionRow {
  readonly workspaceId: string;
  readonly reason: string;
}

/** Suppresses and lifts, step by step; answers the log and what stands at its end. */
function modelSuppressions(steps: readonly SuppressionStep[]) {
  const log = new Log();
  const states = new Map<string, SuppressionState>();
  const listed = new Map<string, SuppressionModel>();
  let at = START;
  for (const { workspaceId, hash, reason, isLift, wait } of steps) {
    at += wait;
    const recipientHash = `${workspaceId}${hash}`;
    const stream = suppressionStream(recipientHash);
    const state = states.get(stream) ?? null;
    const facts = { workspaceId, recipientHash, reason };
    const { events } = isLift ? unsuppress(state) : suppress(state, { address: "ana@example.com" }, facts);
    if (events.length === 0) continue;
    states.set(stream, events.reduce(suppressionDecider.evolve, state));
    const id = log.append(stream, at, events);
    listed.delete(stream);
    const row = { ...facts, id, createdAt: rfc3339(at), revision: log.revision(stream) };
    if (!isLift) listed.set(stream, row);
  }
  return { log, listed: [...listed.values()] };
}

describe("suppressions", () => {
  const step = fc.record({
    workspaceId: fc.constantFrom("w1", "w2"),
    hash: fc.constantFrom("r1", "r2", "r3", "r4"),
    reason: fc.constantFrom("bounce", "manual"),
    isLift: fc.boolean(),
    wait: fc.nat(1),
  });
  const times = fc.nat(20).map((ms) => rfc3339(START + ms));
  const filters = fc.record(
    { reason: fc.constantFrom("bounce", "manual"), createdFrom: times, createdBefore: times },
    { requiredKeys: [] },
  );
  const queries = fc.record({
    workspaceId: fc.constantFrom("w1", "w2", "w3"),
    filter: filters,
    limit: fc.integer({ min: 1, max: 4 }),
  });

  test("are listed as their streams have them, newest first, each once over all pages (property)", () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 40 }),
        fc.array(queries, { maxLength: 5 }),
        (steps, queryList) => {
          const { log, listed } = modelSuppressions(steps);
          projected(suppressions, log, (db) => {
            for (const { workspaceId, filter, limit } of queryList) {
              const { reason, createdFrom = "", createdBefore = "~" } = filter;
              const expected = listed
                .filter((row) => row.workspaceId === workspaceId && row.reason === (reason ?? row.reason))
                .filter(({ createdAt }) => createdAt >= createdFrom && createdAt < createdBefore)
                .map(({ id, recipientHash, createdAt, revision }) => ({
                  id,
                  recipientHash,
                  createdAt,
                  revision,
                }));
              const query = { workspaceId, ...filter, limit };
              expect(allPages(limit, (after) => listSuppressions(db, { ...query, ...after }).rows)).toEqual(
                newestFirst(expected),
              );
            }
          });
        },
      ),
      RUNS,
    );
  });
});

interface KeyStep {
  readonly workspaceId: string;
  readonly id: string;
  readonly expiresInMs: number | null;
  readonly scopes: readonly string[];
  readonly person: string | undefined;
  readonly change: "issue" | "rename" | "revoke";
  readonly wait: number;
}

interface KeyModel {
  readonly id: string;
  readonly key: ApiKey;
  readonly createdAt: string;
}

const HASH = "5ecret";

/** Issues and revokes, step by step; answers the log and what its streams fold to. */
function modelKeys(steps: readonly KeyStep[]) {
  const log = new Log();
  const keys = new Map<string, KeyModel>();
  let at = START;
  for (const { workspaceId, id, expiresInMs, scopes, person, change, wait } of steps) {
    at += wait;
    const known = keys.get(id);
    const expiry = expiresInMs === null ? {} : { expiresAt: rfc3339(at + expiresInMs) };
    const whose = person === undefined ? {} : { person };
    const issued = { workspaceId, name: `key ${at}`, hash: HASH, scopes: [...scopes], ...expiry, ...whose };
    const state = known?.key ?? null;
    const decisions = {
      issue: () => issueApiKey(state, issued),
      rename: () => renameApiKey(state, `renamed ${at}`),
      revoke: () => revokeApiKey(state),
    };
    const { events } = decisions[change]();
    if (events.length === 0) continue;
    log.append(apiKeyStream(id), at, events);
    const key = events.reduce<ApiKeyState>(apiKeyDecider.evolve, state);
    if (key !== null) keys.set(id, { id, key, createdAt: known?.createdAt ?? rfc3339(at) });
  }
  return { log, keys: [...keys.values()] };
}

function rowOf({ id, key, createdAt }: KeyModel): ApiKeyRow {
  const { name, scopes, revoked } = key;
  const expiresAt = key.expiresAt === null ? null : rfc3339(key.expiresAt);
  const noLimits = {
    issuerId: null,
    rotatedFrom: null,
    senders: null,
    clientRanges: null,
    lastUsedAt: null,
    isTest: key.isTest,
    person: key.person,
  };
  return { id, name, scopes: [...scopes], expiresAt, revoked, createdAt, ...noLimits };
}

describe("API keys", () => {
  const step = fc.record({
    workspaceId: fc.constantFrom("w1", "w2"),
    id: fc.constantFrom("k1", "k2", "k3", "k4", "k5", "k6"),
    expiresInMs: fc.option(fc.integer({ min: 1, max: 20 }), { nil: null }),
    scopes: fc.subarray(["email:send", "email:read"]),
    person: fc.constantFrom(undefined, "ana", "ben"),
    change: fc.constantFrom("issue", "issue", "rename", "revoke"),
    wait: fc.nat(1),
  });
  const queries = fc.record({
    workspaceId: fc.constantFrom("w1", "w2", "w3"),
    now: fc.nat(25).map((ms) => START + ms),
    limit: fc.integer({ min: 1, max: 4 }),
  });

  test("are listed, counted and offered to persons as their streams have them (property)", () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 30 }),
        fc.array(queries, { maxLength: 5 }),
        (steps, queryList) => {
          const { log, keys } = modelKeys(steps);
          projected(apiKeys, log, (db) => {
            for (const { workspaceId, now, limit } of queryList) {
              const own = keys.filter(({ key }) => key.workspaceId === workspaceId);
              const found = allPages(limit, (after) => listApiKeys(db, { workspaceId, ...after, limit }));
              expect(found).toEqual(newestFirst(own.map(rowOf)));
              const active = own.filter(({ key }) => isUsable(key, now)).length;
              expect(countActiveApiKeys(db, workspaceId, rfc3339(now))).toBe(active);
              const bounds = { ofWorkspaceMax: 2, max: limit };
              const anas = newestFirst(keys).filter(({ key }) => key.person === "ana" && isUsable(key, now));
              const ofWorkspace = (id: string) =>
                anas.filter(({ key }) => key.workspaceId === id).slice(0, 2);
              const offered = ["w1", "w2"].flatMap(ofWorkspace);
              expect(keyIdsOfPerson(db, { person: "ana", now: rfc3339(now), ...bounds })).toEqual(
                anas
                  .filter((key) => offered.includes(key))
                  .slice(0, limit)
                  .map(({ id }) => id),
              );
            }
            expect(JSON.stringify(db.all("SELECT * FROM api_keys"))).not.toContain(HASH);
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

  test("are those accepted on that day, suppressed ones too, each once (property)", () => {
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
              expect(acceptedOnDay(db, workspaceId, at)).toBe(expected.length);
            }
        });
      }),
      RUNS,
    );
  });
});
