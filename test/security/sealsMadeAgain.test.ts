import { describe, expect, test } from "bun:test";
import { copyFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sqliteReadDatabases } from "../../src/adapters/sqlite/readModelDatabases.ts";
import { openSqliteEventStore } from "../../src/adapters/sqlite/sqliteEventStore.ts";
import { TamperedLogError } from "../../src/commands/audit/auditSealer.ts";
import { verifyLog } from "../../src/commands/audit/verify/verifyLog.ts";
import { AUDIT_STREAM } from "../../src/domain/audit/events.ts";
import { newSigningKey, parseSigningKey } from "../../src/kernel/crypto/auditSigningKey.ts";
import { newId } from "../../src/kernel/ids.ts";
import type { EventStore } from "../../src/ports/eventStore.ts";
import { AuditedLog, type LogAction } from "../support/auditedLog.ts";
import { closeGaps } from "../support/logTampering.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";

const folder = temporaryFolder();

const { pem, publicKey } = newSigningKey();
const signingKey = parseSigningKey(pem);
const SEND: LogAction = { kind: "send", length: 10, suppressed: false };

function fresh(): string {
  return join(folder, `${newId()}.db`);
}

/** Removes every seal from a log's file, and every trace of that. */
function removeSeals(path: string): void {
  const db = new DatabaseSync(path);
  const audit = "(SELECT id FROM streams WHERE name = ?)";
  db.prepare(`DELETE FROM events WHERE stream = ${audit}`).run(AUDIT_STREAM);
  db.prepare("DELETE FROM streams WHERE name = ?").run(AUDIT_STREAM);
  closeGaps(db);
  db.close();
}

function verify(store: EventStore, kept: string | null = null) {
  return verifyLog({
    ...{ store, databases: sqliteReadDatabases, temporaryPath: fresh(), trusted: [publicKey], kept },
    signal: new AbortController().signal,
  });
}

describe("seals that somebody has removed from the log", () => {
  test("are not recreated by a service that has seen them", async () => {
    const path = fresh();
    const store = openSqliteEventStore({ path });
    const log = new AuditedLog(store, signingKey);
    await log.play([SEND, SEND]);
    await log.seal();
    removeSeals(path);
    await log.play([SEND]);
    await expect(log.seal()).rejects.toThrow(TamperedLogError);
    // Nor is it forgotten.
    await expect(log.seal()).rejects.toThrow("is gone, or was replaced");
    expect(await store.lastRevision(AUDIT_STREAM)).toBeNull();
    await store.close();
  });

  test("and that another service recreated are recognised by their time and by a kept digest", async () => {
    const path = fresh();
    const store = openSqliteEventStore({ path });
    const log = new AuditedLog(store, signingKey);
    await log.play([SEND, SEND]);
    await log.seal();
    const { chain: before } = await verify(store);
    expect(before.signedSince).not.toBeNull();
    removeSeals(path);
    await log.play([SEND]);
    await log.seal(1);
    const { chain, findings } = await verify(store);
    expect(findings).toBe(0);
    expect(Date.parse(chain.signedSince ?? "")).toBeGreaterThan(Date.parse(before.signedSince ?? ""));
    expect((await verify(store, before.lastHash)).findings).toBe(1);
    await store.close();
  });
});

describe("a log file swapped for the open one", () => {
  test("is detected before anything is sealed", async () => {
    const path = fresh();
    const store = openSqliteEventStore({ path });
    const log = new AuditedLog(store);
    await log.play([SEND]);
    await log.seal();
    expect(await store.faults("quick")).toEqual([]);
    copyFileSync(path, `${path}.copy`);
    renameSync(`${path}.copy`, path);
    await log.play([SEND]);
    await expect(log.seal()).rejects.toThrow("another file put in its place");
    await store.close();
  });
});
