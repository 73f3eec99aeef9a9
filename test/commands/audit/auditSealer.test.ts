import { describe, expect, test } from "bun:test";
import { AuditSealer, readLastSeal, TamperedLogError } from "../../../src/commands/audit/auditSealer.ts";
import { apiKeyStream } from "../../../src/domain/apiKey/events.ts";
import { AUDIT_STREAM, auditCodec } from "../../../src/domain/audit/events.ts";
import { SEAL_EVENTS_MAX } from "../../../src/domain/audit/seal.ts";
import { INSTANCE_STREAM } from "../../../src/domain/instance/events.ts";
import type { Instance } from "../../../src/domain/instance/state.ts";
import { newSigningKey, parseSigningKey } from "../../../src/kernel/crypto/auditSigningKey.ts";
import { newId } from "../../../src/kernel/ids.ts";
import {
  APPEND_BYTES_MAX,
  type EventStore,
  type NewEvent,
  StoreError,
} from "../../../src/ports/eventStore.ts";
import { auditSealWorker } from "../../../src/reactors/audit/auditSealWorker.ts";
import { AuditedLog } from "../../support/auditedLog.ts";
import { memoryEventStore } from "../../support/stores/memoryEventStore.ts";
import { until } from "../../support/until.ts";
import { verifyWholeLog } from "../../support/verifyWholeLog.ts";

const TEST_MS_MAX = 60_000;

let now = Date.parse("2026-01-01T00:00:00Z");
const clock = { now: () => now, monotonicMs: () => now };

function sealerOn(store: EventStore): AuditSealer {
  return new AuditSealer({ store, clock, signingKey: null, actor: "test" });
}

function event(data: object = {}, type = "ApiKeyRevoked"): NewEvent {
  return { id: newId(), type, data, metadata: { at: new Date(now).toISOString() } };
}

/** Appends `count` events, each to a stream of its own. */
async function appendEvents(store: EventStore, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1)
    await store.append(apiKeyStream(newId()), [event()], "noStream");
}

async function sealAll(sealer: AuditSealer): Promise<void> {
  do await sealer.readOn(async () => {});
  while (!(await sealer.seal()));
}

async function sealsOf(store: EventStore) {
  return (await store.read(AUDIT_STREAM, 0, 1_000)).map((one) => auditCodec.decode(one).data);
}

describe("a sealer", () => {
  test("seals what came since the last seal, and nothing twice", async () => {
    const store = memoryEventStore();
    const sealer = sealerOn(store);
    await sealAll(sealer);
    expect(await readLastSeal(store)).toBeNull();
    for (const count of [3, 0, 2]) {
      await appendEvents(store, count);
      await sealAll(sealer);
    }
    expect((await sealsOf(store)).map(({ covered, order }) => [covered, order.length])).toEqual([
      [3, 3],
      [5, 2],
    ]);
    expect(await verifyWholeLog(store)).toMatchObject({ findings: 0, uncovered: 0 });
  });

  test("continues after the last seal when it restarts, whatever events of that were erased", async () => {
    const store = memoryEventStore();
    await appendEvents(store, 2);
    const log = new AuditedLog(store);
    await log.play([{ kind: "upload", at: 0 }]);
    await sealAll(sealerOn(store));
    // All that is told of the upload goes, and it was sealed last.
    await log.play([{ kind: "discard", at: 0 }]);
    await appendEvents(store, 1);
    await sealAll(sealerOn(store));
    expect((await sealsOf(store)).map(({ order }) => order.length)).toEqual([4, 7]);
    expect(await verifyWholeLog(store)).toMatchObject({ findings: 0, uncovered: 0 });
  });

  test("continues after the previous seal when nothing is left of the last one", async () => {
    const store = memoryEventStore();
    await appendEvents(store, 2);
    await sealAll(sealerOn(store));
    await store.append("storage-w", [event({}, "StorageReserved")], "noStream");
    await sealAll(sealerOn(store));
    await store.append("storage-w", [event({ open: [], before: 1 }, "StorageCounted")], 0);
    await store.truncateBefore("storage-w", 1);
    await sealAll(sealerOn(store));
    expect((await sealsOf(store)).map(({ order }) => order.length)).toEqual([2, 1, 1]);
    expect(await verifyWholeLog(store)).toMatchObject({ findings: 0, uncovered: 0 });
  });

  test("loses a race without harm", async () => {
    const store = memoryEventStore();
    const sealers = [sealerOn(store), sealerOn(store), sealerOn(store)];
    for (let round = 0; round < 5; round += 1) {
      await appendEvents(store, 4);
      // All of them have read the same before the first one seals.
      await Promise.all(sealers.map((sealer) => sealer.readOn(async () => {})));
      const outcomes = await Promise.all(sealers.map((sealer) => sealer.seal()));
      expect(outcomes.filter((isDone) => isDone)).toHaveLength(1);
      await appendEvents(store, 1);
    }
    await sealAll(sealers[1] as AuditSealer);
    expect(await verifyWholeLog(store)).toMatchObject({ findings: 0, uncovered: 0, chain: { seals: 6 } });
  });

  test(
    "catches up with a long log in seals that fit an append, also beside another one",
    async () => {
      const store = memoryEventStore();
      const many = 2 * SEAL_EVENTS_MAX + 300;
      await appendEvents(store, many);
      await Promise.all([sealAll(sealerOn(store)), sealAll(sealerOn(store))]);
      const seals = await sealsOf(store);
      expect(seals.map(({ covered }) => covered)).toEqual([SEAL_EVENTS_MAX, 2 * SEAL_EVENTS_MAX, many]);
      for (const seal of seals) expect(JSON.stringify(seal).length).toBeLessThan(APPEND_BYTES_MAX);
      expect(await verifyWholeLog(store)).toMatchObject({ findings: 0, uncovered: 0 });
    },
    TEST_MS_MAX,
  );

  test(
    "of a log that it may not seal keeps no more events than a full seal has, however long that grows",
    async () => {
      const store = memoryEventStore();
      const fault = {
        kind: "changed",
        stream: AUDIT_STREAM,
        revision: 0,
        object: null,
        detail: "x",
      } as const;
      const sealer = sealerOn({ ...store, faults: async () => [fault] });
      await appendEvents(store, SEAL_EVENTS_MAX);
      for (let rounds = 0; rounds < 3; rounds += 1) {
        await expect(sealer.readOn(async () => {})).rejects.toThrow(TamperedLogError);
        await appendEvents(store, 1_000);
      }
      expect(sealer.waiting).toBe(SEAL_EVENTS_MAX);
    },
    TEST_MS_MAX,
  );

  test("stops where the log goes on in a format that this program does not read", async () => {
    const store = memoryEventStore();
    await appendEvents(store, 3);
    await store.append(INSTANCE_STREAM, [event({ format: 2 }, "LogFormatRaised")], "noStream");
    const sealer = sealerOn(store);
    await expect(sealer.readOn(async () => {})).rejects.toThrow("newer version");
    expect(await store.lastRevision(AUDIT_STREAM)).toBeNull();
  });

  test("finds its place again after an append whose outcome it never learned", async () => {
    const store = memoryEventStore();
    let failure: "before" | "after" | null = null;
    const failing: EventStore = {
      ...store,
      async append(...call) {
        if (failure === "before") throw new StoreError("unavailable", "the store is unavailable");
        const result = await store.append(...call);
        if (failure === "after") throw new StoreError("outcomeUnknown", "the store is unavailable");
        return result;
      },
    };
    const sealer = sealerOn(failing);
    for (const next of ["before", "after"] as const) {
      await appendEvents(store, 2);
      failure = next;
      await expect(sealAll(sealer)).rejects.toThrow(StoreError);
      failure = null;
      await sealAll(sealer);
    }
    expect(await verifyWholeLog(store)).toMatchObject({ findings: 0, uncovered: 0, chain: { seals: 2 } });
  });

  test("fits the longest names into the bounds of an append", async () => {
    const store = memoryEventStore();
    for (let index = 0; index < SEAL_EVENTS_MAX; index += 1) {
      await store.append(`suppression-${newId()}${newId()}`, [event()], "noStream");
    }
    const signingKey = parseSigningKey(newSigningKey().pem);
    await sealAll(new AuditSealer({ store, clock, signingKey, actor: "test" }));
    const [seal] = await sealsOf(store);
    expect(seal?.order).toHaveLength(SEAL_EVENTS_MAX);
    expect(JSON.stringify(seal).length).toBeLessThan(APPEND_BYTES_MAX);
  });
});

/** The instance of a log, as far as sealing looks at it. */
const stopped: Instance = {
  logId: "log",
  sealedDataKey: "",
  contentStoreId: "",
  format: 1,
  frozenAt: null,
  restored: null,
  copyIds: [],
  isHeld: false,
  downtimes: [],
  copies: [],
};

describe("sealing", () => {
  test("waits for its interval, and reports what prevents it", async () => {
    let isUnavailable = false;
    const store = memoryEventStore({ isUnavailable: () => isUnavailable });
    const failures: unknown[] = [];
    const sealer = sealerOn(store);
    const intervalMs = 10;
    let reads = 0;
    let statusReads = 0;
    let instance: Instance | null = null;
    const instanceStatus = {
      async get() {
        statusReads += 1;
        return { instance, restoredPosition: null };
      },
    };
    const countingSealer = Object.assign(Object.create(sealer) as AuditSealer, {
      readOn: async (...call: Parameters<AuditSealer["readOn"]>) => {
        reads += 1;
        await sealer.readOn(...call);
      },
      seal: () => sealer.seal(),
    });
    const sealing = auditSealWorker({
      sealer: countingSealer,
      instanceStatus,
      clock,
      intervalMs,
      random: () => 0,
      onTrouble: (error) => failures.push(error),
    });
    const waitForTwoReads = async () => {
      const seen = reads;
      await until(() => reads > seen + 2, "the sealer to check again");
    };
    sealing.start();
    await appendEvents(store, 3);
    await waitForTwoReads();
    expect(await sealsOf(store)).toEqual([]);
    now += intervalMs;
    await until(async () => (await sealsOf(store)).length === 1, "a seal to be written");
    now += 10 * intervalMs;
    await waitForTwoReads();
    expect(await sealsOf(store)).toHaveLength(1);
    isUnavailable = true;
    await until(() => failures.length > 0, "a failure report");
    isUnavailable = false;
    await appendEvents(store, 1);
    await waitForTwoReads();
    now += intervalMs;
    await until(async () => (await sealsOf(store)).length === 2, "another seal to be written");
    expect(await verifyWholeLog(store)).toMatchObject({ findings: 0, uncovered: 0 });
    instance = { ...stopped, frozenAt: now };
    await appendEvents(store, 1);
    now += 10 * intervalMs;
    const before = statusReads;
    await until(() => statusReads > before + 3, "the sealer to see that the log was moved");
    expect(await sealsOf(store)).toHaveLength(2);
    await sealing.stop();
  });

  test("counts the time that events waited for a process before it", async () => {
    const store = memoryEventStore();
    const intervalMs = 60_000;
    await appendEvents(store, 1);
    now += intervalMs;
    await appendEvents(store, 1);
    const sealing = auditSealWorker({
      sealer: sealerOn(store),
      instanceStatus: { get: async () => ({ instance: null, restoredPosition: null }) },
      clock,
      intervalMs,
      random: () => 0,
      onTrouble: () => {},
    });
    sealing.start();
    await until(async () => (await sealsOf(store)).length === 1, "a seal");
    await sealing.stop();
  });
});
