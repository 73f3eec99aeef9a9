import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqliteEventStore } from "../../src/adapters/sqlite/sqliteEventStore.ts";
import { apiKeyStream } from "../../src/domain/apiKey/events.ts";
import { erasureStream } from "../../src/domain/erasure/events.ts";
import { toErasedEvents } from "../../src/kernel/event/erasedEventHashes.ts";
import { metadataOf } from "../../src/kernel/event/eventMetadata.ts";
import { newId } from "../../src/kernel/ids.ts";
import { type EventStore, locationOfFault } from "../../src/ports/eventStore.ts";
import { AuditedLog } from "../support/auditedLog.ts";
import { rowsOf } from "../support/logTampering.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { verifyWholeLog } from "../support/verifyWholeLog.ts";

const folder = temporaryFolder();

/** A sealed log, and ways for an attacker to append to it. */
interface ForgedLog {
  readonly store: EventStore;
  readonly workspaceId: string;
  /** A message that was delivered, and one that waits. */
  readonly sent: string;
  readonly waiting: string;
  readonly suppression: string;
  readonly upload: string;
  readonly key: string;
  /** Appends an event at a stream's end as a worker, or as whom `metadata` says; its revision. */
  append(stream: string, type: string, data: object, metadata?: object): Promise<number>;
  /** Names all events of a stream below `revision` as erased, appends that and cuts them off. */
  eraseBelow(stream: string, type: string, revision: number, data: object): Promise<readonly string[]>;
}

const ANOTHER = "00000000-0000-4000-8000-000000000000";

async function onSealedLog<Result>(work: (log: ForgedLog) => Promise<Result>): Promise<Result> {
  const path = join(folder, `${crypto.randomUUID()}.db`);
  const store = openSqliteEventStore({ path });
  try {
    const log = new AuditedLog(store);
    await log.play([
      { kind: "send", length: 10, suppressed: false },
      { kind: "send", length: 10, suppressed: false },
      { kind: "deliver", at: 0 },
      { kind: "suppress", at: 0 },
      { kind: "upload", at: 0 },
      { kind: "key", at: 1 },
    ]);
    await log.seal();
    return await work(forgedLogAt(path, store, log.workspaceId));
  } finally {
    await store.close();
  }
}

function forgedLogAt(path: string, store: EventStore, workspaceId: string): ForgedLog {
  const names = [...new Set(rowsOf(path).map(({ name }) => name))];
  const first = (prefix: string, at = 0) => names.filter((name) => name.startsWith(prefix))[at] ?? "";
  const append = async (stream: string, type: string, data: object, metadata: object = {}) => {
    const context = {
      at: Date.parse("2026-01-01T00:00:30Z"),
      correlationId: "test",
      actor: "worker:1",
      workspaceId,
    };
    const event = { id: newId(), type, data, metadata: { ...metadataOf(context), ...metadata } };
    const last = await store.lastRevision(stream);
    const result = await store.append(stream, [event], last ?? "noStream");
    if (result.outcome !== "appended") throw new Error("another append won");
    return result.revision;
  };
  return {
    ...{ store, workspaceId, append },
    ...{ sent: first("email-"), waiting: first("email-", 1), suppression: first("suppression-") },
    ...{ upload: first("attachment-"), key: first("apikey-").slice("apikey-".length) },
    async eraseBelow(stream, type, revision, data) {
      const events = await store.read(stream, 0, revision);
      const erasing = await append(stream, type, { ...data, erased: toErasedEvents(events) });
      await store.truncateBefore(stream, revision);
      return [...events.map((event) => event.revision), erasing].map((at) => `${stream}@${at}`);
    },
  };
}

/** The findings of a verification, by place and kind. */
async function foundIn(store: EventStore): Promise<ReadonlyMap<string, string>> {
  const { shown } = await verifyWholeLog(store);
  return new Map(shown.map((finding) => [locationOfFault(finding), finding.kind]));
}

/** Each erases what it must not; the places that have to be named, the erasing event's own last. */
const FORGERIES: Readonly<Record<string, (log: ForgedLog) => Promise<readonly string[]>>> = {
  "content's erasure that names acceptance, claim and outcome": ({ sent, eraseBelow }) =>
    eraseBelow(sent, "EmailContentErased", 4, { reason: "retention" }),
  "address's erasure that names the suppression": (log) => withRequest(log, log.suppression, 2),
  "address's erasure without a request": ({ suppression, workspaceId, eraseBelow }) =>
    eraseBelow(suppression, "SuppressionAddressErased", 1, {
      ...{ workspaceId, cutsHistory: false, erasureId: newId() },
      recipientHash: suppression.slice("suppression-".length),
    }),
  "address's erasure on another person's request": async (log) => {
    const { workspaceId, suppression, eraseBelow } = log;
    const erasureId = await request(log, "somebody-else");
    const recipientHash = suppression.slice("suppression-".length);
    const data = { workspaceId, recipientHash, cutsHistory: false, erasureId };
    return eraseBelow(suppression, "SuppressionAddressErased", 1, data);
  },
  "address's erasure among the events of a message": ({ sent, workspaceId, eraseBelow }) =>
    eraseBelow(sent, "SuppressionAddressErased", 4, {
      ...{ workspaceId, recipientHash: "x", cutsHistory: true, erasureId: newId() },
    }),
  "upload's erasure for somebody whom it was never sent to": async (log) => {
    const erasureId = await request(log, "somebody-else");
    return log.eraseBelow(log.upload, "AttachmentErased", 2, uploadLeft(log, erasureId));
  },
  "upload's erasure without a request": (log) =>
    log.eraseBelow(log.upload, "AttachmentErased", 2, uploadLeft(log, newId())),
  "content's erasure of a message that waits": (log) =>
    contentErased(log, log.waiting, { reason: "retention" }),
  "content's erasure by retention, too soon": (log) => contentErased(log, log.sent, { reason: "retention" }),
  "content's erasure that nobody asked for": (log) => contentErased(log, log.sent, { reason: "requested" }),
  "content's erasure by a key that was never issued": (log) =>
    contentErased(log, log.sent, { reason: "requested" }, { actor: `api-key:${newId()}` }),
  "content's erasure by a key of another workspace": async (log) => {
    const id = newId();
    const issued = { workspaceId: ANOTHER, name: "a key", hash: "x", scopes: [] };
    await log.append(apiKeyStream(id), "ApiKeyIssued", issued, { workspaceId: ANOTHER });
    return contentErased(log, log.sent, { reason: "requested" }, { actor: `api-key:${id}` });
  },
  "content's erasure at the end of a message whose send did not ask for it": (log) =>
    contentErased(log, log.sent, { reason: "final_status" }),
  "content's erasure for a person, without a request": (log) =>
    contentErased(log, log.sent, { reason: "person", erasureId: newId() }),
  "content's erasure for another person": async (log) =>
    contentErased(log, log.sent, { reason: "person", erasureId: await request(log, "somebody-else") }),
  "content's erasure for a reason that there is not": (log) =>
    contentErased(log, log.sent, { reason: "tidying" }, { actor: "cli" }),
  "content's erasure of another workspace": (log) =>
    contentErased(log, log.sent, { reason: "requested" }, { actor: "cli", workspaceId: ANOTHER }),
  "content's erasure before there is a message": async ({ append }) => {
    const stream = `email-${newId()}`;
    return [`${stream}@${await append(stream, "EmailContentErased", { reason: "requested" })}`];
  },
};

/** Erasing events that erase nothing by their kind, and name leaves all the same: what they name is missing. */
const FALSE_REQUESTERS: Readonly<Record<string, (log: ForgedLog) => Promise<readonly string[]>>> = {
  "a deferral": ({ sent, eraseBelow }) => eraseBelow(sent, "EmailDeferred", 4, {}),
  "a new suppression": ({ suppression, eraseBelow }) => eraseBelow(suppression, "RecipientSuppressed", 2, {}),
  "a check of an upload": ({ upload, eraseBelow }) => eraseBelow(upload, "AttachmentValidated", 2, {}),
  "a revocation": ({ key, eraseBelow }) => eraseBelow(apiKeyStream(key), "ApiKeyRevoked", 1, {}),
};

async function request({ append, workspaceId, key }: ForgedLog, recipientHash: string): Promise<string> {
  const id = newId();
  const actor = { actor: `api-key:${key}` };
  await append(erasureStream(id), "ErasureRequested", { workspaceId, recipientHash }, actor);
  return id;
}

async function withRequest(log: ForgedLog, suppression: string, below: number): Promise<readonly string[]> {
  const { workspaceId, eraseBelow } = log;
  const recipientHash = suppression.slice("suppression-".length);
  const erasureId = await request(log, recipientHash);
  const data = { workspaceId, recipientHash, cutsHistory: true, erasureId };
  return eraseBelow(suppression, "SuppressionAddressErased", below, data);
}

function uploadLeft({ workspaceId }: ForgedLog, erasureId: string): object {
  const at = "2026-01-01T00:00:00.000Z";
  return { workspaceId, contentType: "text/plain", bytes: 1, uploadedAt: at, expiresAt: at, erasureId };
}

async function contentErased(log: ForgedLog, stream: string, data: object, metadata: object = {}) {
  const revision = await log.append(stream, "EmailContentErased", data, metadata);
  await log.store.truncateBefore(stream, 1);
  return [`${stream}@0`, `${stream}@${revision}`];
}

describe("a forged erasure", () => {
  test.each(Object.entries(FORGERIES))("a %s is detected, with all that it hides", async (_, forge) => {
    await onSealedLog(async (log) => {
      const planted = await forge(log);
      const found = await foundIn(log.store);
      expect([...found.keys()]).toEqual(expect.arrayContaining([...planted]));
      expect(["unfounded", "unknown"]).toContain(found.get(planted.at(-1) ?? "") ?? "");
    });
  });

  test.each(Object.entries(FALSE_REQUESTERS))("%s that names leaves hides nothing", async (_, forge) => {
    await onSealedLog(async (log) => {
      const hidden = (await forge(log)).slice(0, -1);
      const found = await foundIn(log.store);
      expect([...found.keys()]).toEqual(expect.arrayContaining(hidden));
    });
  });

  test("is distinguished from a real one, which erases only the suppression's address on the person's request", async () => {
    await onSealedLog(async (log) => {
      await withRequest(log, log.suppression, 1);
      expect(await foundIn(log.store)).toEqual(new Map());
    });
  });
});

describe("an event before the start of the log", () => {
  /** A log with a forged key at position -1, and the name of its stream. */
  async function withForgedKey(): Promise<{ readonly path: string; readonly stream: string }> {
    const path = join(folder, `${crypto.randomUUID()}.db`);
    const stream = apiKeyStream(newId());
    const store = openSqliteEventStore({ path });
    await new AuditedLog(store).play([{ kind: "key", at: 1 }]);
    await store.close();
    return { path, stream };
  }

  function forge(path: string, stream: string): void {
    const db = new DatabaseSync(path);
    const { lastInsertRowid } = db.prepare("INSERT INTO streams (name, revision) VALUES (?, 0)").run(stream);
    db.prepare("INSERT INTO events VALUES (-1, ?, 0, 'x', 'ApiKeyIssued', '{}', '{}')").run(lastInsertRowid);
    db.close();
  }

  test("is read by no decision and covered by no seal", async () => {
    const { path, stream } = await withForgedKey();
    const store = openSqliteEventStore({ path });
    forge(path, stream);
    expect(await store.read(stream, 0, 10)).toEqual([]);
    await expect(new AuditedLog(store).seal()).rejects.toThrow("position -1");
    await store.close();
  });

  test("keeps the log from being opened, and is named in the error", async () => {
    const { path, stream } = await withForgedKey();
    forge(path, stream);
    expect(() => openSqliteEventStore({ path })).toThrow("position -1: the log begins at position 1");
  });
});
