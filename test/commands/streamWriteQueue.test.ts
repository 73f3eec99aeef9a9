import { describe, expect, spyOn, test } from "bun:test";
import { workspaceAggregate } from "../../src/commands/aggregateDefinitions.ts";
import { ConflictRetry } from "../../src/commands/conflictRetry.ts";
import { queueStreamWrite, StreamBusyError } from "../../src/commands/streamWriteQueue.ts";
import { transact } from "../../src/commands/transact.ts";
import { workspaceStream } from "../../src/domain/workspace/events.ts";
import { newId } from "../../src/kernel/ids.ts";
import type { EventStore } from "../../src/ports/eventStore.ts";
import { memoryEventStore } from "../support/stores/memoryEventStore.ts";

const WAITING_MAX = 1_000;

describe("writers of one stream", () => {
  test("take turns in the order in which they came, even after one that failed", async () => {
    const store = memoryEventStore();
    const order: number[] = [];
    let isWriting = false;
    const write = (index: number) =>
      queueStreamWrite(store, "stream", async () => {
        expect(isWriting).toBeFalse();
        isWriting = true;
        await Bun.sleep(0);
        isWriting = false;
        order.push(index);
        if (index === 1) throw new Error("failed");
        return index;
      });
    const results = await Promise.allSettled([0, 1, 2, 3].map(write));
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
    expect(order).toEqual([0, 1, 2, 3]);
    expect(await write(4)).toBe(4);
  });

  test("are refused if there are too many, without effect on the others and on other streams", async () => {
    const store = memoryEventStore();
    const first = Promise.withResolvers<void>();
    let writes = 0;
    const write = async () => {
      await first.promise;
      writes += 1;
    };
    const waiting = Array.from({ length: 1 + WAITING_MAX }, () => queueStreamWrite(store, "stream", write));
    const refused = queueStreamWrite(store, "stream", write);
    await expect(refused).rejects.toThrow(StreamBusyError);
    await expect(refused).rejects.toThrow("stream is busy: 1000 writers wait for it");
    expect(await queueStreamWrite(store, "other", async () => "written")).toBe("written");
    first.resolve();
    await Promise.all(waiting);
    expect(writes).toBe(1 + WAITING_MAX);
    await queueStreamWrite(store, "stream", write);
  });

  test("whose turn comes after their caller has given up do not write, and say how long they waited", async () => {
    const store = memoryEventStore();
    const first = Promise.withResolvers<void>();
    const startMs = performance.now();
    const clock = spyOn(performance, "now").mockImplementation(() => startMs);
    try {
      const slow = queueStreamWrite(store, "stream", () => first.promise);
      const late = queueStreamWrite(store, "stream", async () => "written");
      clock.mockImplementation(() => startMs + 8_001);
      first.resolve();
      await slow;
      await expect(late).rejects.toThrow("stream is busy: no turn to write in 8001 ms");
    } finally {
      clock.mockRestore();
    }
  });

  test("that lose to other instances for too long say for how long", async () => {
    const startMs = performance.now();
    const clock = spyOn(performance, "now").mockImplementation(() => startMs);
    try {
      const retry = new ConflictRetry("stream");
      await retry.lost();
      clock.mockImplementation(() => startMs + 8_001);
      await expect(retry.lost()).rejects.toThrow(
        "stream is busy: appends were lost to other instances for 8001 ms",
      );
    } finally {
      clock.mockRestore();
    }
  });

  test("on several instances all get to write", async () => {
    const log = memoryEventStore();
    // What is kept by store is kept by instance: each of them has a hold of its own on the log.
    const instances = [1, 2, 3, 4].map(() => Object.create(log) as EventStore);
    const workspaceId = newId();
    const stream = workspaceStream(workspaceId);
    const context = { at: Date.now(), correlationId: "test", actor: "test", workspaceId };
    const aggregate = { ...workspaceAggregate, stream };
    const change = { type: "LimitsChanged" as const, data: { messagesPerDay: 1 } };
    const write = (store: EventStore) =>
      transact(store, aggregate, () => ({ outcome: null, events: [change] }), context);
    const writers = Array.from({ length: 400 }, (_, index) => write(instances[index % 4] as EventStore));
    await Promise.all(writers);
    expect(await log.lastRevision(stream)).toBe(399);
  });
});
