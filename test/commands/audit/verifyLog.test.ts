import { describe, expect, test } from "bun:test";
import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { sqliteReadDatabases } from "../../../src/adapters/sqlite/readModelDatabases.ts";
import { type VerifyLogOptions, verifyLog } from "../../../src/commands/audit/verify/verifyLog.ts";
import { AUDIT_STREAM } from "../../../src/domain/audit/events.ts";
import { newSigningKey, parseSigningKey } from "../../../src/kernel/crypto/auditSigningKey.ts";
import { type EventStore, LOG_START } from "../../../src/ports/eventStore.ts";
import { AuditedLog, type LogAction, logActions, withLogAt } from "../../support/auditedLog.ts";
import {
  closeGaps,
  flip,
  flipInFile,
  type Row,
  seededPick,
  swapTwo,
  TAMPERINGS,
  type Tampering,
  tamperWith,
} from "../../support/logTampering.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";

const TEST_MS_MAX = 120_000;
const RUNS = 100;
/** Of some fifteen kinds: several times the hundred that have to be found. */
const PLANTS_OF_A_KIND = 8;

const folder = temporaryFolder();

function fresh(): string {
  return join(folder, `${crypto.randomUUID()}.db`);
}

function verify(store: EventStore, options: Partial<VerifyLogOptions> = {}) {
  const signal = new AbortController().signal;
  const given = {
    store,
    databases: sqliteReadDatabases,
    temporaryPath: fresh(),
    trusted: [],
    kept: null,
    signal,
  };
  return verifyLog({ ...given, ...options });
}

describe("a log that nobody has touched", () => {
  test(
    `has no findings, ${RUNS} of ${RUNS} times`,
    async () => {
      await fc.assert(
        fc.asyncProperty(logActions, async (history) => {
          await withLogAt(fresh(), async (store) => {
            const log = new AuditedLog(store);
            await log.play(history);
            expect((await verify(store)).shown).toEqual([]);
            await log.seal();
            const result = await verify(store);
            expect(result).toMatchObject({ findings: 0, uncovered: 0 });
            expect(result.compared + result.neverSealed).toBe(result.events);
            expect(result.compared + result.erased).toBe(result.chain.covered);
          });
        }),
        { numRuns: RUNS },
      );
    },
    TEST_MS_MAX,
  );
});

/** A log with everything in it, several seals, and something behind the last one. */
async function writtenLog(
  pem: string | null = null,
): Promise<{ readonly path: string; readonly sealed: number }> {
  const path = fresh();
  const sealed = await withLogAt(path, async (store) => {
    const log = new AuditedLog(store, pem === null ? null : parseSigningKey(pem));
    for (const history of fc.sample(logActions, { numRuns: 6, seed: 6 }))
      await log.play(history.filter(isShort));
    await log.seal();
    const head = Number(await store.head());
    await log.play([
      { kind: "send", length: 10, suppressed: false },
      { kind: "key", at: 0 },
    ]);
    return head;
  });
  return { path, sealed };
}

/** Long content makes copies slow and nothing else. */
function isShort(action: LogAction): boolean {
  return action.kind !== "send" || action.length < 100_000;
}

/** Plants the same change in `runs` copies of a log, each time elsewhere; what is found in each, beside what was planted. */
async function plantAndVerify(
  log: { readonly path: string; readonly isPickable: (row: Row) => boolean },
  plant: Tampering,
  runs: number,
  options: Partial<VerifyLogOptions> = {},
) {
  const results = [];
  for (let run = 1; run <= runs; run += 1) {
    const copy = fresh();
    copyFileSync(log.path, copy);
    const planted = tamperWith(copy, plant, seededPick(run), log.isPickable).map(nameOf);
    const { shown, findings } = await withLogAt(copy, (store) => verify(store, options));
    rmSync(copy);
    results.push({ planted, findings, found: shown.map(nameOf) });
  }
  return results;
}

function nameOf({
  stream,
  revision,
}: {
  readonly stream: string | null;
  readonly revision: number | null;
}): string {
  return `${stream}@${revision}`;
}

describe("among sealed events", async () => {
  const { path, sealed } = await writtenLog();
  const log = { path, isPickable: ({ position, name }: Row) => position < sealed && name !== AUDIT_STREAM };

  test.each(Object.entries(TAMPERINGS))(
    "%s is found, and where",
    async (_, plant) => {
      for (const { planted, found } of await plantAndVerify(log, plant, PLANTS_OF_A_KIND)) {
        expect(found).toEqual(expect.arrayContaining(planted));
      }
    },
    TEST_MS_MAX,
  );

  test("two swapped events are found, and where", async () => {
    for (const { planted, found } of await plantAndVerify(log, swapTwo, PLANTS_OF_A_KIND)) {
      expect(found.some((location) => planted.includes(location))).toBe(true);
    }
  });

  test("a byte changed in the file, past the database, is found, and where", async () => {
    for (let run = 1; run <= PLANTS_OF_A_KIND; run += 1) {
      const copy = fresh();
      copyFileSync(path, copy);
      const planted = flipInFile(copy, seededPick(run), log.isPickable);
      const { shown } = await withLogAt(copy, (store) => verify(store));
      expect(shown.map(nameOf)).toContain(nameOf(planted));
    }
  });

  const isSeal = ({ position, name }: Row) => position < sealed && name === AUDIT_STREAM;
  test.each(["data", "metadata", "id", "type"] as const)(
    "a bit of a seal's %s is found, and where",
    async (column) => {
      for (const { planted, found } of await plantAndVerify(
        { path, isPickable: isSeal },
        flip(column),
        PLANTS_OF_A_KIND,
      )) {
        expect(found).toEqual(expect.arrayContaining(planted));
      }
    },
  );

  test("a seal removed from among others is found, and where", async () => {
    const remove = TAMPERINGS["an event removed"] as Tampering;
    for (const { planted, found, findings } of await plantAndVerify(
      { path, isPickable: isSeal },
      remove,
      5,
    )) {
      expect(found).toEqual(expect.arrayContaining([...planted]));
      // The seal, and the hole in the positions.
      expect(findings).toBe(2);
    }
  });
});

describe("a chain that is hashed again", async () => {
  const ownKey = newSigningKey();
  const otherKey = newSigningKey();
  const signedLog = await writtenLog(ownKey.pem);
  const trusted = [ownKey.publicKey];
  const isPickable = ({ position, name }: Row) => position < signedLog.sealed && name !== AUDIT_STREAM;

  /** Changes an event and makes all seals again, as far as whoever does it has a key. */
  async function hashAgain(pem: string | null): Promise<string> {
    const copy = fresh();
    copyFileSync(signedLog.path, copy);
    tamperWith(copy, flip("metadata"), seededPick(1), isPickable);
    const db = new DatabaseSync(copy);
    db.exec(`DELETE FROM events WHERE stream = (SELECT id FROM streams WHERE name = '${AUDIT_STREAM}')`);
    db.exec(`DELETE FROM streams WHERE name = '${AUDIT_STREAM}'`);
    closeGaps(db);
    db.close();
    await withLogAt(copy, (store) =>
      new AuditedLog(store, pem === null ? null : parseSigningKey(pem)).seal(),
    );
    return copy;
  }

  test("is sound as it was", async () => {
    const { findings, chain } = await withLogAt(signedLog.path, (store) => verify(store, { trusted }));
    expect(findings).toBe(0);
    expect(chain.signed).toBe(chain.seals);
    expect(chain.publicKeys).toEqual(trusted);
  });

  test.each([
    ["nobody", null],
    ["another key", otherKey.pem],
  ])("signed by %s is found with the public key, and only with it", async (_, pem) => {
    const copy = await hashAgain(pem);
    expect((await withLogAt(copy, (store) => verify(store, { trusted }))).shown).toMatchObject(
      [{ kind: "unsigned" }, {}].slice(0, 1),
    );
    expect((await withLogAt(copy, (store) => verify(store))).findings).toBe(0);
  });

  test("is found by a digest that was kept", async () => {
    const lastHash = (await withLogAt(signedLog.path, (store) => verify(store))).chain.lastHash;
    expect((await withLogAt(signedLog.path, (store) => verify(store, { kept: lastHash }))).findings).toBe(0);
    const copy = await hashAgain(null);
    expect((await withLogAt(copy, (store) => verify(store, { kept: lastHash }))).findings).toBe(1);
  });

  test("is found if seals after signed ones are no longer signed", async () => {
    const copy = fresh();
    copyFileSync(signedLog.path, copy);
    await withLogAt(copy, (store) => new AuditedLog(store).seal());
    expect((await withLogAt(copy, (store) => verify(store, { trusted }))).shown).toMatchObject([
      { kind: "unsigned" },
    ]);
    expect((await withLogAt(copy, (store) => verify(store))).findings).toBe(0);
  });

  test("is sound again with a new key, whose first seal covers those that were not signed", async () => {
    const copy = fresh();
    copyFileSync(signedLog.path, copy);
    const newKey = newSigningKey();
    await withLogAt(copy, async (store) => {
      const key = { kind: "key", at: 0 } as const;
      for (const signingKey of [null, parseSigningKey(newKey.pem)])
        await new AuditedLog(store, signingKey).play([key, { kind: "seal", sealer: 0 }]);
      const withOldKey = await verify(store, { trusted: [...trusted, newKey.publicKey] });
      expect(withOldKey.shown).toMatchObject([{ kind: "unsigned" }]);
      const { findings, chain } = await verify(store, { trusted: [newKey.publicKey] });
      expect([findings, chain.signed]).toEqual([0, 1]);
    });
    // A seal by a stranger after it is found, and so is a change before it.
    await withLogAt(copy, (store) => {
      const log = new AuditedLog(store, parseSigningKey(otherKey.pem));
      return log.play([
        { kind: "key", at: 0 },
        { kind: "seal", sealer: 0 },
      ]);
    });
    const db = new DatabaseSync(copy);
    db.exec("UPDATE events SET data = replace(data, 'a key', 'A key') WHERE type = 'ApiKeyIssued'");
    db.close();
    const { kinds } = await withLogAt(copy, (store) => verify(store, { trusted: [newKey.publicKey] }));
    expect(kinds.map(({ kind }) => kind)).toEqual(expect.arrayContaining(["changed", "unsigned"]));
  });

  test("is found in the last seal too, whose signature covers it", async () => {
    const isLast = ({ position }: Row) => position === signedLog.sealed;
    for (const { planted, found } of await plantAndVerify(
      { path: signedLog.path, isPickable: isLast },
      flip("data"),
      PLANTS_OF_A_KIND,
    )) {
      expect(found).toEqual(expect.arrayContaining(planted));
    }
  });

  test("may begin unsigned: the first signed seal covers those before it", async () => {
    const path = fresh();
    await withLogAt(path, async (store) => {
      const key = { kind: "key", at: 0 } as const;
      const unsigned = new AuditedLog(store);
      await unsigned.play([key, { kind: "seal", sealer: 0 }, key, { kind: "seal", sealer: 0 }]);
      expect((await verify(store, { trusted })).shown).toMatchObject([{ kind: "unsigned" }]);
      const signed = new AuditedLog(store, parseSigningKey(ownKey.pem));
      await signed.play([key, { kind: "seal", sealer: 1 }]);
      expect(await verify(store, { trusted })).toMatchObject({ findings: 0, chain: { seals: 3, signed: 1 } });
    });
  });
});

describe("before the seal", async () => {
  test("changed content of a message is found once it is sealed, because the seal has what was accepted", async () => {
    const { path, sealed } = await writtenLog();
    const isContent = ({ position, type }: Row) => position > sealed && type === "EmailContentStored";
    const planted = tamperWith(path, flip("data"), seededPick(1), isContent).map(nameOf);
    expect(planted).toHaveLength(1);
    const { shown } = await withLogAt(path, async (store) => {
      await new AuditedLog(store).seal();
      return verify(store);
    });
    expect(shown.map(nameOf)).toEqual(planted);
  });
});

describe("what seals do not prove", async () => {
  test("an event after the last seal may be changed: it counts as uncovered", async () => {
    const { path, sealed } = await writtenLog();
    tamperWith(path, flip("metadata"), seededPick(1), ({ position }) => position > sealed);
    const { findings, uncovered } = await withLogAt(path, (store) => verify(store));
    expect([findings, uncovered]).toEqual([0, 4]);
  });

  test("a log cut back to an earlier seal is sound, unless somebody kept a later digest", async () => {
    const path = fresh();
    const kept = await withLogAt(path, async (store) => {
      const keyAndSeal: readonly LogAction[] = [
        { kind: "key", at: 1 },
        { kind: "seal", sealer: 0 },
      ];
      await new AuditedLog(store, parseSigningKey(newSigningKey().pem)).play([...keyAndSeal, ...keyAndSeal]);
      return (await verify(store)).chain.lastHash;
    });
    const db = new DatabaseSync(path);
    db.exec(
      `DELETE FROM events WHERE position > 2; UPDATE streams SET revision = 0 WHERE name = '${AUDIT_STREAM}'`,
    );
    db.exec("DELETE FROM streams WHERE id NOT IN (SELECT stream FROM events)");
    closeGaps(db);
    db.close();
    expect(await withLogAt(path, (store) => verify(store))).toMatchObject({
      findings: 0,
      chain: { seals: 1 },
    });
    expect((await withLogAt(path, (store) => verify(store, { kept }))).findings).toBe(1);
  });
});

describe("beside a running service", () => {
  test("an erasure while the log is read is no finding", async () => {
    await withLogAt(fresh(), async (store) => {
      const log = new AuditedLog(store);
      const sends = Array.from(
        { length: 30 },
        (): LogAction => ({ kind: "send", length: 10, suppressed: false }),
      );
      await log.play([...sends, ...sends.map((): LogAction => ({ kind: "suppress", at: 0 }))]);
      await log.seal();
      const racingStore: EventStore = Object.assign(Object.create(store) as EventStore, {
        async *readAll(...[from, filter]: Parameters<EventStore["readAll"]>) {
          const batches = store.readAll(from, filter);
          const erasing = sends.flatMap((_, at): LogAction[] => [
            { kind: "erase", at },
            { kind: "forget", at },
          ]);
          // The head of this reading is where it is now; what erases comes behind it.
          const first = await batches[Symbol.asyncIterator]().next();
          await log.play(erasing);
          if (!first.done) yield* [first.value];
          if (from === LOG_START) yield* store.readAll(first.value.position, filter);
        },
      });
      expect((await verify(racingStore)).shown).toEqual([]);
    });
  });
});
