import { expect, test } from "bun:test";
import fc from "fast-check";
import { systemClock } from "../../../src/adapters/system/systemClock.ts";
import { ClaimScheduler } from "../../../src/reactors/worker/claimScheduler.ts";
import { until } from "../../support/until.ts";

/** Longer than candidates in hand delay a look. */
const LOOK_MS = 300;

interface Item {
  readonly id: string;
  readonly revision: number;
  readonly workspace: string;
  readonly sender: string;
}

/** What is due: how many items each sender of each workspace has. */
type Backlogs = readonly (readonly number[])[];

function itemsOf(backlogs: Backlogs): Item[] {
  return backlogs.flatMap((senders, workspace) =>
    senders.flatMap((count, sender) =>
      Array.from({ length: count }, (_, nth) => ({
        id: `${workspace}.${sender}.${nth}`,
        revision: 1,
        workspace: `w${workspace}`,
        sender: `w${workspace}s${sender}`,
      })),
    ),
  );
}

/** Works on all items one after the other, and returns their order. Looks again after each item for which `looks` says so. */
async function workedOn(
  items: readonly Item[],
  { looks = () => false, isLogShared = true }: { looks?: (nth: number) => boolean; isLogShared?: boolean },
): Promise<readonly Item[]> {
  const stopping = new AbortController();
  const done: Item[] = [];
  let monotonicMs = 0;
  const scheduler: ClaimScheduler<Item, { release(): void }> = new ClaimScheduler({
    clock: { ...systemClock, monotonicMs: () => monotonicMs },
    isLogShared,
    random: Math.random,
    inFlightMax: 1,
    stopping: stopping.signal,
    ready: (_, without, limit) => ({
      items: items.filter((item) => !done.includes(item) && !without.has(item.id)).slice(0, limit),
      more: "none",
    }),
    nextReadyAt: () => null,
    acquire: () => ({ release: () => {} }),
    ownersOf: ({ workspace, sender }: Item) => [workspace, sender],
    handle: async (item) => {
      done.push(item);
      if (looks(done.length)) {
        monotonicMs += LOOK_MS;
        scheduler.wake();
      }
      return item.revision;
    },
    onTrouble: (error) => {
      throw error;
    },
  });
  const running = scheduler.run();
  await until(() => done.length === items.length, "all items");
  stopping.abort();
  await running;
  return done;
}

/** How far owners who both still have items are apart at most, counted in items that were worked on. */
function lead(order: readonly Item[], ownerOf: (item: Item) => string): number {
  const left = new Map<string, number>();
  for (const item of order) left.set(ownerOf(item), (left.get(ownerOf(item)) ?? 0) + 1);
  const worked = new Map([...left.keys()].map((owner) => [owner, 0]));
  let most = 0;
  for (const item of order) {
    const owner = ownerOf(item);
    const counts = [...left].filter(([, count]) => count > 0).map(([name]) => worked.get(name) ?? 0);
    most = Math.max(most, Math.max(...counts) - Math.min(...counts));
    worked.set(owner, (worked.get(owner) ?? 0) + 1);
    left.set(owner, (left.get(owner) ?? 0) - 1);
  }
  return most;
}

test("workspaces take turns, and so do the senders of each, however much one of them has and whenever is looked", async () => {
  const backlogs = fc.array(fc.array(fc.nat({ max: 12 }), { minLength: 1, maxLength: 4 }), {
    minLength: 1,
    maxLength: 4,
  });
  const property = fc.asyncProperty(
    backlogs,
    fc.func(fc.boolean()),
    fc.boolean(),
    async (counts, looks, isLogShared) => {
      const order = await workedOn(itemsOf(counts), { looks, isLogShared });
      expect(lead(order, ({ workspace }) => workspace)).toBeLessThanOrEqual(1);
      for (const [workspace] of counts.entries()) {
        const own = order.filter((item) => item.workspace === `w${workspace}`);
        expect(lead(own, ({ sender }) => sender)).toBeLessThanOrEqual(1);
      }
    },
  );
  await fc.assert(property, { numRuns: 50 });
});

test("who comes late is next", async () => {
  const items = itemsOf([[200], [1]]);
  const [late] = items.splice(-1);
  if (late === undefined) throw new Error("no item");
  const looks = (done: number) => {
    if (done === 50) items.push(late);
    return done === 50;
  };
  const order = await workedOn(items, { looks });
  expect(order.indexOf(late)).toBe(50);
});

test("an owner's items keep their order where nobody else picks from them, and are mixed otherwise", async () => {
  const items = itemsOf([[200]]);
  expect(await workedOn(items, { isLogShared: false })).toEqual(items);
  expect(await workedOn(items, { isLogShared: true })).not.toEqual(items);
});
