import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { EventStore } from "../../src/ports/eventStore.ts";
import { rebuildReadModels } from "../../src/readModels/rebuildReadModels.ts";
import { verifyReadModels } from "../../src/readModels/verifyReadModels.ts";
import { openStore } from "../../src/service/adapters/openStore.ts";
import { tallyOf, typed, writeTallyLog } from "../faults/rebuild/rebuildLog.ts";
import { testStores } from "../support/stores/stores.ts";
import { added, append, erased, follow, newStorage, rowsOf } from "./followFixtures.ts";

const EVENTS_BEFORE = 2_000;
/** Of forty streams the first half is erased continuously, the others at the worst moments. */
const RACE_FROM = 20;
const ERASED_AT_ONCE = 3;
const TEST_MS_MAX = 180_000;

describe.each(await testStores())("truncation that races a verification, on $name", ({ env, isShared }) => {
  // Where a server is asked, every turn takes a second.
  const verifications = isShared ? 2 : 10;
  const run = crypto.randomUUID();
  const storage = newStorage();
  const projection = tallyOf(run);
  let store: EventStore;
  beforeAll(async () => {
    const storeUrl = env.STORE_URL ?? `file:${storage.directory}/log`;
    store = await openStore({ storeUrl, storeTimeoutMs: 5_000 });
    await writeTallyLog(store, run, EVENTS_BEFORE);
  }, TEST_MS_MAX);
  afterAll(async () => {
    await store.close();
    storage.remove();
  });

  /** Writes to a stream, erases all of its content, and truncates it at once. */
  async function eraseOne(index: number): Promise<void> {
    const stream = `${run}-${index}`;
    await append(store, stream, typed(added(index), run), typed(added(1), run));
    await append(store, stream, typed(erased(), run));
    await store.truncateBefore(stream, (await store.lastRevision(stream)) ?? 0);
  }

  /** The log for a reader before whose every reading and batch some streams are erased that it would have read. */
  function racingStore(): EventStore {
    let erasures = 0;
    const eraseSome = async () => {
      for (let count = 0; count < ERASED_AT_ONCE; count += 1) {
        await eraseOne(RACE_FROM + (erasures % RACE_FROM));
        erasures += 1;
      }
    };
    return {
      append: store.append.bind(store),
      read: store.read.bind(store),
      flush: store.flush.bind(store),
      lastRevision: store.lastRevision.bind(store),
      subscribe: store.subscribe.bind(store),
      head: store.head.bind(store),
      truncateBefore: store.truncateBefore.bind(store),
      truncations: store.truncations.bind(store),
      faults: store.faults.bind(store),
      purge: store.purge.bind(store),
      close: store.close.bind(store),
      async *readAll(...reading) {
        await eraseSome();
        for await (const batch of store.readAll(...reading)) {
          yield batch;
          if (!batch.caughtUp) await eraseSome();
        }
      },
    };
  }

  test(
    "is no difference, and a rebuild beside it ends with the same rows",
    async () => {
      const following = follow(storage, store, [projection]);
      await following.caughtUp();
      let isDone = false;
      const erasing = (async () => {
        for (let index = 0; !isDone; index += 1) await eraseOne(index % RACE_FROM);
      })();
      const { signal } = new AbortController();
      const reading = { ...storage, store: racingStore(), projections: [projection], signal };
      const results = [];
      for (let turn = 0; turn < verifications; turn += 1) results.push(...(await verifyReadModels(reading)));
      const [rebuilt] = await rebuildReadModels({ ...reading, owner: false });
      isDone = true;
      await erasing;
      await following.caughtUp();
      await following.stop();
      const failures = results.filter(({ differences, failure }) => differences > 0 || failure !== null);
      expect(failures).toEqual([]);
      expect(results).toHaveLength(verifications);
      expect(rebuilt?.outcome).toBe("current");
      const before = rowsOf(storage, projection);
      await rebuildReadModels({ ...reading, store, owner: true });
      expect(rowsOf(storage, projection)).toEqual(before);
    },
    TEST_MS_MAX,
  );
});
