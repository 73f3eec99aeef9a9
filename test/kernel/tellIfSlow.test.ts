import { expect, test } from "bun:test";
import { tellIfSlow } from "../../src/kernel/concurrency/tellIfSlow.ts";

test("a step that takes long is told of, once, and its result or fault is passed on", async () => {
  const step = Promise.withResolvers<string>();
  let told = 0;
  const slow = tellIfSlow(
    step.promise,
    () => {
      told += 1;
      step.resolve("done");
    },
    1,
  );
  expect(await slow).toBe("done");
  expect(told).toBe(1);
  const failing = tellIfSlow(Promise.reject(new Error("refused")), () => (told += 1));
  await expect(failing).rejects.toThrow("refused");
  expect(told).toBe(1);
});
