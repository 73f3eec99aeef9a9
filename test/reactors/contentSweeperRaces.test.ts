import { expect, test } from "bun:test";
import fc from "fast-check";
import { readEmail } from "../../src/commands/readEmail.ts";
import type { Services } from "../../src/commands/services.ts";
import { emailId } from "../../src/kernel/ids.ts";
import type { ContentStore } from "../../src/ports/contentStore.ts";
import { type EventStore, StoreError } from "../../src/ports/eventStore.ts";
import { type SweptWorld, sweptWorld } from "./sweeperFixtures.ts";

const MINUTE_MS = 60_000;
const RUNS = 250;
const RUNS_MS_MAX = 240_000;

/** What becomes of a request once its bytes are stored. */
type Fate = "lives" | "dies before it appends" | "dies before it hears";

type Step =
  | { readonly kind: "send"; readonly key: string; readonly variant: number; readonly fate: Fate }
  | { readonly kind: "erase"; readonly key: string }
  | { readonly kind: "sweep" }
  | { readonly kind: "pass"; readonly minutes: number };

const key = fc.constantFrom("key-one", "key-two");
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("send" as const),
      key,
      variant: fc.nat({ max: 1 }),
      fate: fc.constantFrom<Fate>("lives", "lives", "dies before it appends", "dies before it hears"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("erase" as const), key }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("sweep" as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("pass" as const), minutes: fc.constantFrom(9, 45, 70) }),
  },
);

/** Whoever passes waits until the scheduler lets it. */
type Gate = (what: string) => Promise<unknown>;

/** The log as one request has it, which may die beside its append. */
function dyingStore(store: EventStore, fate: Fate, gate: Gate): EventStore {
  return {
    ...store,
    async append(stream, events, expected) {
      if (fate === "dies before it appends") throw new StoreError("unavailable", "the process was killed");
      // No gate before the append: it ends by its own time-out, long before a folder is old.
      const result = await store.append(stream, events, expected);
      await gate("appended");
      if (fate === "dies before it hears") throw new StoreError("outcomeUnknown", "the process was killed");
      return result;
    },
  };
}

function hesitant(content: ContentStore, gate: Gate): ContentStore {
  return {
    ...content,
    async put(folder, bytes) {
      await gate("to put");
      const sha256 = await content.put(folder, bytes);
      await gate("put");
      return sha256;
    },
    async removeFolder(folder) {
      await gate("to remove");
      await content.removeFolder(folder);
    },
  };
}

/** What a run has learnt: which request was accepted under a key, and whether its content was erased since. */
interface Promises {
  readonly accepted: Map<string, number>;
  readonly erased: Set<string>;
}

/** Every message that was accepted, whether its sender heard of it or not, and not erased, has its bytes. */
async function expectKept(world: SweptWorld, { accepted, erased }: Promises): Promise<number> {
  const { workspaceId, services } = world;
  let kept = 0;
  for (const name of ["key-one", "key-two"]) {
    const id = emailId(workspaceId, name);
    const view = await readEmail(services, workspaceId, id);
    if (accepted.has(name)) expect(view).not.toBeNull();
    if (view === null || erased.has(name)) continue;
    kept += 1;
    const variants = accepted.has(name) ? [accepted.get(name) ?? 0] : [0, 1];
    expect(variants.map((variant) => world.htmlOf(name, variant))).toContain(view.content?.html ?? "none");
  }
  return kept;
}

/** Whether any of them comes true, as soon as one has. */
function anyOf(promises: readonly Promise<boolean>[]): Promise<boolean> {
  const trueOnes = promises.map(async (promise) => (await promise) || Promise.reject(new Error("untrue")));
  return Promise.any(trueOnes).catch(() => false);
}

type Send = Extract<Step, { kind: "send" }>;

/** Does all steps at once, in whatever order the scheduler lets them through their gates. */
async function race(world: SweptWorld, steps: readonly Step[], scheduler: fc.Scheduler): Promise<Promises> {
  const promises: Promises = { accepted: new Map(), erased: new Set() };
  const gate: Gate = (what) => scheduler.schedule(Promise.resolve(), what);
  const content = hesitant(world.content, gate);
  const sending = async (one: Send) => {
    await gate("to send");
    const store = dyingStore(world.store, one.fate, gate);
    await send(world, one, world.servicesOver({ store, content }), promises);
    return promises.accepted.has(one.key);
  };
  const sends = steps
    .filter((one) => one.kind === "send")
    .map((one) => ({ key: one.key, done: sending(one) }));
  const erase = async (name: string) => {
    // Only what was accepted can be erased. Retries of it go on meanwhile.
    const ofKey = sends.filter((one) => one.key === name).map(({ done }) => done);
    if (!(await anyOf(ofKey))) return;
    await gate("to erase");
    promises.erased.add(name);
    await world.erase(emailId(world.workspaceId, name));
  };
  const others = steps.map(async (one) => {
    if (one.kind === "send") return;
    if (one.kind === "erase") return erase(one.key);
    await gate(one.kind);
    if (one.kind === "pass") return world.clock.advance(one.minutes * MINUTE_MS);
    await world.sweeper({ content }).sweep();
    await expectKept(world, promises);
  });
  await scheduler.waitFor(Promise.all([...others, ...sends.map(({ done }) => done)]));
  return promises;
}

async function send(
  world: SweptWorld,
  { key: name, variant }: Send,
  services: Services,
  { accepted }: Promises,
): Promise<void> {
  try {
    const outcome = await world.send(name, variant, services);
    if (outcome.kind === "accepted") accepted.set(name, variant);
    else expect(outcome.kind).toBe("conflict");
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
  }
}

test(
  "sweeps that race sends, retries, deaths and erasures take no accepted message's bytes, and leave nobody's",
  async () => {
    const seen = { swept: 0, kept: 0, erased: 0 };
    const property = fc.asyncProperty(
      fc.array(step, { minLength: 2, maxLength: 12 }),
      fc.scheduler(),
      async (steps, scheduler) => {
        const world = await sweptWorld();
        try {
          const promises = await race(world, steps, scheduler);
          await expectKept(world, promises);
          world.clock.advance(120 * MINUTE_MS);
          seen.swept += (await world.sweeper().sweep()).removed;
          const kept = await expectKept(world, promises);
          expect(await world.files()).toHaveLength(kept);
          seen.kept += kept;
          seen.erased += promises.erased.size;
        } finally {
          await world.close();
        }
      },
    );
    await fc.assert(property, { numRuns: RUNS });
    // The runs have met all: messages that stay, folders that go, and content that was erased.
    expect(seen.kept).toBeGreaterThan(RUNS / 10);
    expect(seen.swept).toBeGreaterThan(RUNS / 10);
    expect(seen.erased).toBeGreaterThan(RUNS / 20);
  },
  RUNS_MS_MAX,
);
