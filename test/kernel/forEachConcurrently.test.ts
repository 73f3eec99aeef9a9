import { expect, test } from "bun:test";
import { forEachConcurrently } from "../../src/kernel/concurrency/forEachConcurrently.ts";

test("after a failure nothing more begins, and the first one is thrown once what is under way has ended", async () => {
  const begun: number[] = [];
  const slow = Promise.withResolvers<void>();
  let isSettled = false;
  const all = forEachConcurrently([1, 2, 3, 4], 2, async (item) => {
    begun.push(item);
    if (item === 1) await slow.promise;
    throw new Error(`item ${item}`);
  }).finally(() => {
    isSettled = true;
  });
  all.catch(() => {});
  await Bun.sleep(0);
  expect({ begun, isSettled }).toEqual({ begun: [1, 2], isSettled: false });
  slow.resolve();
  await expect(all).rejects.toThrow("item 2");
  expect(begun).toEqual([1, 2]);
});

test("every item is worked on once, and those are counted for which the work was true", async () => {
  const items = Array.from({ length: 25 }, (_, index) => index);
  const done: number[] = [];
  const count = await forEachConcurrently(items, 4, async (item) => {
    done.push(item);
    await Bun.sleep(0);
    return item % 2 === 0;
  });
  expect(done).toEqual(items);
  expect(count).toBe(13);
});
