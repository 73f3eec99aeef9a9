import { expect, test } from "bun:test";
import { readConfig } from "../../src/service/config/config.ts";
import { readinessOf } from "../../src/service/status/readiness.ts";

function readinessWith(changed: object) {
  const parts = {
    config: readConfig({ DATA_DIR: "/nowhere" }),
    deps: {
      store: { head: async () => 1n },
      disk: { freeBytes: () => 1e12 },
      clock: { monotonicMs: () => 0 },
      instanceStatus: { get: async () => ({ instance: null }) },
    },
    readers: { status: () => [] as unknown[] },
    delivery: { relayFault: null },
    freezeWatch: { isFrozen: async () => false },
    ...changed,
  };
  return readinessOf(parts as unknown as Parameters<typeof readinessOf>[0]);
}

test("nobody is told at which message a read model stopped", async () => {
  const id = crypto.randomUUID();
  const failure = `stopped at EmailQueued, stream email-${id}, revision 1`;
  const status = () => [{ name: "emails", state: "failed", isCaughtUp: true, failure }];
  const { read_models: readModels } = await readinessWith({ readers: { status } })();
  expect(readModels).toMatchObject({
    ok: false,
    detail: "emails: stopped at EmailQueued, stream email-…, revision 1",
  });
});

test("many who ask at once whether the service is ready ask the store once", async () => {
  let asked = 0;
  const answer = Promise.withResolvers<void>();
  const store = {
    head() {
      asked += 1;
      return answer.promise;
    },
  };
  const readiness = readinessWith({
    deps: {
      store,
      disk: { freeBytes: () => 1e12 },
      clock: { monotonicMs: () => 0 },
      instanceStatus: { get: async () => ({ instance: null }) },
    },
  });
  const looks = Array.from({ length: 100 }, () => readiness());
  answer.resolve();
  for (const checks of await Promise.all(looks)) expect(checks.store?.ok).toBe(true);
  expect(asked).toBe(1);
  await readiness();
  expect(asked).toBe(2);
});
