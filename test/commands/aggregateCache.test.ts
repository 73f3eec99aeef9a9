import { describe, expect, test } from "bun:test";
import { aggregateCache } from "../../src/commands/aggregateCache.ts";
import { workspaceAggregate } from "../../src/commands/aggregateDefinitions.ts";
import { workspaceStream } from "../../src/domain/workspace/events.ts";
import { type EventStore, StoreError } from "../../src/ports/eventStore.ts";
import { memoryEventStore } from "../support/stores/memoryEventStore.ts";
import { until } from "../support/until.ts";

const ID = "w";

/** A store whose reads are answered when the test says so, with what was there when they were asked for. */
function slowStore() {
  const store = memoryEventStore();
  const waiting: (() => void)[] = [];
  let reads = 0;
  let heldReads = 0;
  let failure: StoreError | null = null;
  const slow: EventStore = {
    ...store,
    async read(...request) {
      reads += 1;
      const failing = failure;
      const events = await store.read(...request);
      heldReads += 1;
      await new Promise<void>((resolve) => waiting.push(resolve));
      if (failing) throw failing;
      return events;
    },
  };
  let events = 0;
  return {
    cache: aggregateCache(slow, workspaceAggregate),
    reads: () => reads,
    fail(error: StoreError | null) {
      failure = error;
    },
    async answerAll() {
      await until(() => heldReads === reads, "the reads to be held");
      for (const answer of waiting.splice(0)) answer();
    },
    async append(type: string, data: object) {
      const metadata = { schema: 1, at: "2030-01-01T00:00:00.000Z", correlationId: "c", actor: "test" };
      const event = { id: crypto.randomUUID(), type, data, metadata };
      await store.append(workspaceStream(ID), [event], events === 0 ? "noStream" : events - 1);
      events += 1;
    },
  };
}

const PAUSED = ["SendingPaused", { at: "2030-01-01T00:00:00.000Z" }] as const;

describe("a cache of folded states", () => {
  test("reads once for all callers, during the read and after it", async () => {
    const { cache, reads, answerAll, append } = slowStore();
    await append("WorkspaceCreated", { name: "shop" });
    const answers = [cache.get(ID), cache.get(ID)];
    await answerAll();
    expect((await Promise.all(answers)).map((state) => state?.name)).toEqual(["shop", "shop"]);
    expect((await cache.get(ID))?.name).toBe("shop");
    expect(reads()).toBe(1);
  });

  test("forgets a read in flight too: earlier callers get its result, later ones read again", async () => {
    const { cache, reads, answerAll, append } = slowStore();
    await append("WorkspaceCreated", { name: "shop" });
    const before = cache.get(ID);
    await append(...PAUSED);
    cache.forget(ID);
    const after = cache.get(ID);
    await answerAll();
    expect((await before)?.name).toBe("shop");
    expect((await after)?.paused).toBeTrue();
    expect((await cache.get(ID))?.paused).toBeTrue();
    expect(reads()).toBe(2);
  });

  test("returns without waiting what it has read, until that is forgotten", async () => {
    const { cache, answerAll, append } = slowStore();
    await append("WorkspaceCreated", { name: "shop" });
    expect(cache.known(ID)).toBeNull();
    const pending = cache.get(ID);
    expect(cache.known(ID)).toBeNull();
    await answerAll();
    await pending;
    expect(cache.known(ID)).toMatchObject({ state: { name: "shop", paused: false }, revision: 0 });
    await append(...PAUSED);
    cache.forget(ID);
    expect(cache.known(ID)).toBeNull();
    const reloaded = cache.get(ID);
    expect(cache.known(ID)).toBeNull();
    await answerAll();
    await reloaded;
    expect(cache.known(ID)).toMatchObject({ state: { paused: true }, revision: 1 });
  });

  test("caches no failure, and a late failure does not evict a newer success", async () => {
    const { cache, reads, answerAll, append, fail } = slowStore();
    await append("WorkspaceCreated", { name: "shop" });
    fail(new StoreError("unavailable", "the store is unavailable"));
    const failing = cache.get(ID).catch((error: unknown) => error);
    fail(null);
    cache.forget(ID);
    const cached = cache.get(ID);
    await answerAll();
    expect(await failing).toBeInstanceOf(StoreError);
    expect((await cached)?.name).toBe("shop");
    expect((await cache.get(ID))?.name).toBe("shop");
    expect(reads()).toBe(2);
    cache.forget(ID);
    fail(new StoreError("unavailable", "the store is unavailable"));
    const failedAgain = cache.get(ID).catch((error: unknown) => error);
    await answerAll();
    expect(await failedAgain).toBeInstanceOf(StoreError);
    fail(null);
    const recovered = cache.get(ID);
    await answerAll();
    expect((await recovered)?.name).toBe("shop");
  });

  test("also caches that something does not exist", async () => {
    const { cache, reads, answerAll } = slowStore();
    const pending = cache.get(ID);
    await answerAll();
    expect(await pending).toBeNull();
    expect(await cache.get(ID)).toBeNull();
    expect(reads()).toBe(1);
  });
});
