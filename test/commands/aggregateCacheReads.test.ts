import { expect, test } from "bun:test";
import { aggregateCache } from "../../src/commands/aggregateCache.ts";
import { templateAggregate } from "../../src/commands/aggregateDefinitions.ts";
import { load, transact } from "../../src/commands/transact.ts";
import { createTemplate, draftVersion } from "../../src/domain/template/decisions.ts";
import { templateIn } from "../../src/domain/template/state.ts";
import { watchedStore } from "../reactors/email/deliveryFixtures.ts";
import { until } from "../support/until.ts";

const AT = "2030-01-01T00:00:00.000Z";
const CONTEXT = { at: Date.parse(AT), correlationId: "test", actor: "test" };

test("a stale state is updated from the new events of its stream, and nothing else is read", async () => {
  const store = watchedStore();
  const reads: number[] = [];
  const counted = {
    ...store,
    read: (...call: Parameters<typeof store.read>) => {
      reads.push(call[1]);
      return store.read(...call);
    },
  };
  const aggregate = templateAggregate.of("t");
  const cache = aggregateCache(counted, templateAggregate);
  const versionsOf = async () => templateIn(await cache.get("t"), "w")?.versions;
  const draft = (versionId: string) => {
    const parts = { subject: "s", html: null, text: "t", variables: [], bytes: 1, at: AT };
    return transact(store, aggregate, (state) => draftVersion(state, "w", { versionId, ...parts }), CONTEXT);
  };
  await transact(
    store,
    aggregate,
    (state) => createTemplate(state, { workspaceId: "w", name: "n", at: AT }, 0),
    CONTEXT,
  );
  await draft("v1");
  expect(await versionsOf()).toHaveLength(1);
  await draft("v2");
  expect(await versionsOf()).toHaveLength(1);
  await until(async () => (await versionsOf())?.length !== 1, "the second version");
  expect(await cache.get("t")).toEqual((await load(store, templateAggregate.of("t"))).state);
  expect(reads).toEqual([0, 2]);
});
