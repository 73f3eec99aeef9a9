import { expect, test } from "bun:test";
import { readConfig } from "../../src/service/config/config.ts";
import { readinessOf } from "../../src/service/status/readiness.ts";

test("many who ask at once whether the service is ready ask the store once", async () => {
  let asked = 0;
  const answer = Promise.withResolvers<void>();
  const parts = {
    config: readConfig({ DATA_DIR: "/nowhere" }),
    deps: {
      store: {
        head() {
          asked += 1;
          return answer.promise;
        },
      },
      disk: { freeBytes: () => 1e12 },
      clock: { monotonicMs: () => 0 },
      instanceStatus: { get: async () => ({ instance: null }) },
    },
    readers: { status: () => [] },
    delivery: { relayFault: null },
    freezeWatch: { isFrozen: async () => false },
  };
  const readiness = readinessOf(parts as unknown as Parameters<typeof readinessOf>[0]);
  const looks = Array.from({ length: 100 }, () => readiness());
  answer.resolve();
  for (const checks of await Promise.all(looks)) expect(checks.store?.ok).toBe(true);
  expect(asked).toBe(1);
  await readiness();
  expect(asked).toBe(2);
});
