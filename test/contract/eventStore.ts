import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import {
  APPEND_BYTES_MAX,
  type AppendResult,
  type EventStore,
  type ExpectedRevision,
  LOG_START,
  type LogBatch,
  type LogFilter,
  type NewEvent,
  type Position,
  type RecordedEvent,
  StoreError,
} from "../../src/ports/eventStore.ts";
import { until } from "../support/until.ts";

/** How the suite accesses the store under test. */
export interface StoreUnderTest {
  readonly name: string;
  /** A new handle on the same log. */
  open(options?: { readonly timeoutMs?: number }): Promise<EventStore>;
  /** Keeps calls waiting until the function that it returns is called; absent when nothing can. */
  readonly stall?: () => Promise<() => Promise<void>>;
}

/** How many tests of this file ran, by store. */
export const testCounts = new Map<string, number>();

const TEST_MS_MAX = 90_000;
/** The port's promise: a call settles within its own time and this. */
const GRACE_MS = 1_000;

/** A test of `store`, counted; reported as skipped where it is not possible. */
export function contractTest(
  store: string,
  name: string,
  body: () => Promise<void>,
  isPossible = true,
): void {
  test.skipIf(!isPossible)(
    name,
    async () => {
      testCounts.set(store, (testCounts.get(store) ?? 0) + 1);
      await body();
    },
    TEST_MS_MAX,
  );
}

/** A name that no other test uses. */
export function fresh(label: string): string {
  return `${label}-${crypto.randomUUID()}`;
}

/** An event with a fresh id. */
export function newEvent(type = "Happened", data: object | Uint8Array = { n: 1 }): NewEvent {
  return { id: crypto.randomUUID(), type, data, metadata: { at: "2026-01-01T00:00:00.000Z" } };
}

/** Appends, and fails unless the append won. */
export async function mustAppend(
  store: EventStore,
  stream: string,
  events: readonly NewEvent[],
  expected: ExpectedRevision,
): Promise<Extract<AppendResult, { outcome: "appended" }>> {
  const result = await store.append(stream, events, expected);
  if (result.outcome !== "appended")
    throw new Error(`the append to ${stream} lost: ${JSON.stringify(result)}`);
  return result;
}

export function idsOf(events: readonly { readonly id: string }[]): string[] {
  return events.map(({ id }) => id);
}

/** The error that `call` was refused with; fails when it was not refused. */
export async function refusal(call: Promise<unknown>): Promise<StoreError> {
  const outcome = await call.then(
    (value) => new Error(`was not refused but answered ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (!(outcome instanceof StoreError)) throw outcome;
  return outcome;
}

/** What a live subscription has yielded so far. */
export interface Seen {
  readonly events: RecordedEvent[];
  isCaughtUp: boolean;
  position: Position;
}

/** Runs a live subscription in the background and keeps what it yields. `ended` rejects on a gap in order. */
export function follow(store: EventStore, from: Position, filter: LogFilter, signal: AbortSignal) {
  const seen: Seen = { events: [], isCaughtUp: false, position: from };
  const ended = (async () => {
    for await (const batch of store.subscribe(from, filter, signal)) recordBatch(seen, batch);
  })();
  return { seen, ended };
}

function recordBatch(seen: Seen, batch: LogBatch): void {
  if (batch.position < seen.position) throw new Error("the position moved back");
  for (const event of batch.events) {
    if (event.position <= seen.position)
      throw new Error(`${event.position} is at or before ${seen.position}`);
    if (event.position > batch.position) throw new Error("a batch's position is before one of its events");
  }
  seen.events.push(...batch.events);
  seen.isCaughtUp = batch.caughtUp;
  seen.position = batch.position;
}

/** What `promise` settles with; fails with `what` when it does not settle soon. */
export async function withinTime<Result>(promise: Promise<Result>, what: string): Promise<Result> {
  const settled = { done: false };
  const watched = promise.finally(() => {
    settled.done = true;
  });
  await Promise.race([watched, until(() => settled.done, what)]);
  return watched;
}

async function collect(
  batches: AsyncIterable<LogBatch>,
): Promise<{ events: RecordedEvent[]; batches: LogBatch[] }> {
  const all = { events: [] as RecordedEvent[], batches: [] as LogBatch[] };
  for await (const batch of batches) {
    all.events.push(...batch.events);
    all.batches.push(batch);
  }
  return all;
}

/** Every promise of the port, on one store. Call it inside a `describe`. */
export function eventStoreContract(subject: StoreUnderTest): void {
  const openStores: EventStore[] = [];
  const open = async (options?: { readonly timeoutMs?: number }) => {
    const store = await subject.open(options);
    openStores.push(store);
    return store;
  };
  let store: EventStore;
  beforeAll(async () => {
    store = await open();
  });
  afterAll(async () => {
    await Promise.all(openStores.map((opened) => opened.close()));
  });
  const suite: Suite = { subject, open, store: () => store, it: contractTest.bind(null, subject.name) };
  appends(suite);
  repeats(suite);
  reads(suite);
  wholeLog(suite);
  subscriptions(suite);
  truncation(suite);
  purging(suite);
  payloads(suite);
  bounds(suite);
  model(suite);
}

interface Suite {
  readonly subject: StoreUnderTest;
  readonly open: (options?: { readonly timeoutMs?: number }) => Promise<EventStore>;
  readonly store: () => EventStore;
  readonly it: (name: string, body: () => Promise<void>, isPossible?: boolean) => void;
}

function appends({ store, it }: Suite): void {
  it("an append to a new stream is readable at once", async () => {
    const stream = fresh("new");
    const event = newEvent("Begun", { hello: "world" });
    const result = await mustAppend(store(), stream, [event], "noStream");
    expect(result.revision).toBe(0);
    const read = await store().read(stream, 0, 10);
    expect(read).toEqual([{ ...event, stream, revision: 0, position: result.position }]);
    expect(await store().lastRevision(stream)).toBe(0);
  });

  it("an append at the last revision continues the stream", async () => {
    const stream = fresh("continued");
    await mustAppend(store(), stream, [newEvent()], "noStream");
    expect((await mustAppend(store(), stream, [newEvent(), newEvent()], 0)).revision).toBe(2);
    expect((await mustAppend(store(), stream, [newEvent()], 2)).revision).toBe(3);
    expect((await store().read(stream, 0, 10)).map(({ revision }) => revision)).toEqual([0, 1, 2, 3]);
  });

  it("a wrong expectation is answered with the actual revision and writes nothing", async () => {
    const stream = fresh("wrong");
    await mustAppend(store(), stream, [newEvent(), newEvent(), newEvent()], "noStream");
    for (const expected of ["noStream", 0, 1, 3, 17] as const) {
      const result = await store().append(stream, [newEvent()], expected);
      expect(result).toEqual({ outcome: "wrongExpectedRevision", actual: 2 });
    }
    expect(await store().read(stream, 0, 10)).toHaveLength(3);
  });

  it("a revision expected of a stream that was never written is answered with null", async () => {
    const stream = fresh("never");
    const result = await store().append(stream, [newEvent()], 5);
    expect(result).toEqual({ outcome: "wrongExpectedRevision", actual: null });
    expect(await store().read(stream, 0, 10)).toEqual([]);
    expect(await store().lastRevision(stream)).toBeNull();
  });

  it("of 200 racing first appends exactly one wins, and every loser reads the winner at once", async () => {
    const stream = fresh("race");
    const batches = Array.from({ length: 200 }, (_, n) => [
      newEvent("Raced", { n }),
      newEvent("Raced", { n }),
    ]);
    const outcomes = await Promise.all(
      batches.map(async (events) => {
        const result = await store().append(stream, events, "noStream");
        const read = await store().read(stream, 0, 10);
        return { result, read: idsOf(read), own: idsOf(events) };
      }),
    );
    const winners = outcomes.filter(({ result }) => result.outcome === "appended");
    expect(winners).toHaveLength(1);
    for (const { result, read } of outcomes) {
      if (result.outcome === "wrongExpectedRevision") expect(result.actual).toBe(1);
      expect(read).toEqual(winners[0]?.own as string[]);
    }
  });

  it("of 50 racing appends at a revision exactly one wins, and every loser reads the winner", async () => {
    const stream = fresh("race");
    await mustAppend(store(), stream, [newEvent()], "noStream");
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const result = await store().append(stream, [newEvent()], 0);
        return { result, read: await store().read(stream, 0, 10) };
      }),
    );
    expect(outcomes.filter(({ result }) => result.outcome === "appended")).toHaveLength(1);
    for (const { read } of outcomes) expect(read).toHaveLength(2);
  });

  it("100 concurrent writers of their own streams read their own writes", async () => {
    const read = await Promise.all(
      Array.from({ length: 100 }, async () => {
        const stream = fresh("own");
        const events = [newEvent(), newEvent()];
        await mustAppend(store(), stream, events, "noStream");
        return { written: idsOf(events), read: idsOf(await store().read(stream, 0, 10)) };
      }),
    );
    for (const one of read) expect(one.read).toEqual(one.written);
  });

  it("all events of an append are written, or none", async () => {
    const stream = fresh("atomic");
    const winners = [newEvent("A"), newEvent("B"), newEvent("C")];
    const { revision } = await mustAppend(store(), stream, winners, "noStream");
    expect(revision).toBe(2);
    await store().append(stream, [newEvent("D"), newEvent("E")], 1);
    expect(idsOf(await store().read(stream, 0, 10))).toEqual(idsOf(winners));
  });
}

function repeats({ store, it }: Suite): void {
  it("a repeated append gets the first one's answer and writes nothing", async () => {
    const stream = fresh("repeat");
    const events = [newEvent(), newEvent()];
    const first = await mustAppend(store(), stream, events, "noStream");
    expect(await store().append(stream, events, "noStream")).toEqual(first);
    const second = [newEvent()];
    const later = await mustAppend(store(), stream, second, 1);
    expect(await store().append(stream, second, 1)).toEqual(later);
    expect(await store().read(stream, 0, 10)).toHaveLength(3);
  });

  it("a repeated append is recognised after later ones", async () => {
    const stream = fresh("repeat");
    const events = [newEvent(), newEvent()];
    const first = await mustAppend(store(), stream, events, "noStream");
    const second = [newEvent()];
    const later = await mustAppend(store(), stream, second, 1);
    await mustAppend(store(), stream, [newEvent(), newEvent()], 2);
    expect(await store().append(stream, events, "noStream")).toEqual(first);
    expect(await store().append(stream, second, 1)).toEqual(later);
    expect(await store().lastRevision(stream)).toBe(4);
  });

  it("the same append from two callers at once is written once, and both get its result", async () => {
    const stream = fresh("repeat");
    const events = [newEvent(), newEvent()];
    const results = await Promise.all([1, 2, 3, 4].map(() => store().append(stream, events, "noStream")));
    for (const result of results) expect(result).toEqual(results[0] as AppendResult);
    expect(results[0]?.outcome).toBe("appended");
    expect(idsOf(await store().read(stream, 0, 10))).toEqual(idsOf(events));
  });

  it("another append with the same expectation loses, whatever its data", async () => {
    const stream = fresh("other");
    const event = newEvent("Same", { same: true });
    await mustAppend(store(), stream, [event], "noStream");
    const other = await store().append(stream, [{ ...event, id: crypto.randomUUID() }], "noStream");
    expect(other).toEqual({ outcome: "wrongExpectedRevision", actual: 0 });
  });
}

function reads({ store, it, open }: Suite): void {
  it("reads a stream from any revision and in pages", async () => {
    const stream = fresh("pages");
    const events = Array.from({ length: 25 }, (_, n) => newEvent("Paged", { n }));
    await mustAppend(store(), stream, events, "noStream");
    expect(idsOf(await store().read(stream, 20, 100))).toEqual(idsOf(events.slice(20)));
    const paged: RecordedEvent[] = [];
    for (;;) {
      const page = await store().read(stream, paged.length, 10);
      if (page.length === 0) break;
      expect(page.length).toBeLessThanOrEqual(10);
      paged.push(...page);
    }
    expect(idsOf(paged)).toEqual(idsOf(events));
    expect(paged.map(({ revision }) => revision)).toEqual(events.map((_, revision) => revision));
    expect(await store().read(stream, 25, 10)).toEqual([]);
  });

  it("a flush settles after what was appended before it, writes nothing, and is refused once the handle is closed", async () => {
    const stream = fresh("flushed");
    await mustAppend(store(), stream, [newEvent()], "noStream");
    const head = await store().head();
    await store().flush();
    expect(await store().head()).toBe(head);
    const other = await open();
    await other.close();
    expect((await refusal(other.flush())).failure).toBe("unavailable");
  });

  it("a stream that was never written is empty and has no revision", async () => {
    const stream = fresh("never");
    expect(await store().read(stream, 0, 10)).toEqual([]);
    expect(await store().read(stream, 7, 10)).toEqual([]);
    expect(await store().lastRevision(stream)).toBeNull();
  });
}

function wholeLog({ store, it }: Suite): void {
  /** Two types in two kinds of stream, interleaved. */
  const mixed = async () => {
    const from = await store().head();
    const [red, blue] = [fresh("Red"), fresh("Blue")];
    const [cat, dog] = [`cat${crypto.randomUUID()}-`, `dog${crypto.randomUUID()}-`];
    for (let n = 0; n < 6; n += 1) {
      await mustAppend(store(), `${cat}${n}`, [newEvent(red), newEvent(`${red}der`)], "noStream");
      await mustAppend(store(), `${dog}${n}`, [newEvent(red), newEvent(blue)], "noStream");
    }
    return { from, red, blue, cat, dog };
  };
  const filtered = async (from: Position, filter: LogFilter) =>
    (await collect(store().readAll(from, filter))).events.map(({ stream, type }) => ({ stream, type }));

  it("the whole log filters by exact event types", async () => {
    const { from, red, blue } = await mixed();
    const reds = await filtered(from, { types: [red] });
    expect(reds).toHaveLength(12);
    expect(new Set(reds.map(({ type }) => type))).toEqual(new Set([red]));
    expect(await filtered(from, { types: [red, blue] })).toHaveLength(18);
  });

  it("the whole log filters by stream prefixes", async () => {
    const { from, cat, dog } = await mixed();
    const ofCategory = await filtered(from, { streamPrefixes: [cat] });
    expect(ofCategory).toHaveLength(12);
    expect(ofCategory.every(({ stream }) => stream.startsWith(cat))).toBe(true);
    expect(await filtered(from, { streamPrefixes: [cat, dog] })).toHaveLength(24);
  });

  it("the whole log filters by types and prefixes together", async () => {
    const { from, red, blue, cat, dog } = await mixed();
    expect(await filtered(from, { types: [red], streamPrefixes: [dog] })).toHaveLength(6);
    expect(await filtered(from, { types: [blue], streamPrefixes: [cat] })).toHaveLength(0);
  });

  it("the whole log without a filter holds what was appended, in that order", async () => {
    const from = await store().head();
    const stream = fresh("whole");
    const events = Array.from({ length: 30 }, (_, n) => newEvent("Whole", { n }));
    for (const [n, event] of events.entries()) {
      await mustAppend(store(), stream, [event], n === 0 ? "noStream" : n - 1);
    }
    const all = await collect(store().readAll(from, {}));
    expect(idsOf(all.events)).toEqual(idsOf(events));
    const byStream = await store().read(stream, 0, 100);
    expect(all.events).toEqual([...byStream]);
  });

  it("a read of the log comes in bounded batches, ends where the head was, and says so", async () => {
    const from = await store().head();
    const type = fresh("Bulk");
    const events = Array.from({ length: 2_500 }, (_, n) => newEvent(type, { n }));
    for (let n = 0; n < events.length; n += 500) {
      await mustAppend(store(), fresh("bulk"), events.slice(n, n + 500), "noStream");
    }
    const head = await store().head();
    const all = await collect(store().readAll(from, { types: [type] }));
    expect(idsOf(all.events)).toEqual(idsOf(events));
    const afterHead = await collect(
      store().readAll(all.batches.at(-1)?.position as Position, { types: [fresh("Nothing")] }),
    );
    expect(afterHead.batches.at(-1)).toMatchObject({ events: [], caughtUp: true });
    for (const batch of all.batches) expect(batch.events.length).toBeLessThanOrEqual(1_000);
    expect(all.batches.map(({ caughtUp }) => caughtUp).indexOf(true)).toBe(all.batches.length - 1);
    expect((all.batches.at(-1)?.position as string) >= head).toBe(true);
  });

  it("a read of the log ends while others keep writing", async () => {
    const type = fresh("Endless");
    await mustAppend(store(), fresh("endless"), [newEvent(type), newEvent(type)], "noStream");
    let isDone = false;
    const writer = (async () => {
      while (!isDone) await mustAppend(store(), fresh("endless"), [newEvent(type)], "noStream");
    })();
    try {
      const all = await withinTime(collect(store().readAll(LOG_START, { types: [type] })), "the read to end");
      expect(all.events.length).toBeGreaterThanOrEqual(2);
      expect(all.batches.at(-1)?.caughtUp).toBe(true);
    } finally {
      isDone = true;
      await writer;
    }
  });

  it("a read of the log resumes from the position of any batch, with no gap and no repeat", async () => {
    const from = await store().head();
    const type = fresh("Resumed");
    const events = Array.from({ length: 1_200 }, (_, n) => newEvent(type, { n }));
    await mustAppend(store(), fresh("resumed"), events, "noStream");
    const seen: RecordedEvent[] = [];
    let position = from;
    for (let rounds = 0; seen.length < events.length && rounds < events.length; rounds += 1) {
      for await (const batch of store().readAll(position, { types: [type] })) {
        seen.push(...batch.events);
        position = batch.position;
        break;
      }
    }
    expect(idsOf(seen)).toEqual(idsOf(events));
    for (const event of seen.filter((_, nth) => nth % 60 === 59)) {
      const rest = await collect(store().readAll(event.position, { types: [type] }));
      expect(rest.events).toHaveLength(events.length - 1 - event.revision);
    }
  });

  it("positions order as strings, in the order of the log, and survive serialisation", async () => {
    const from = await store().head();
    const positions: Position[] = [];
    for (let n = 0; n < 20; n += 1) {
      const { position } = await mustAppend(store(), fresh("ordered"), [newEvent(), newEvent()], "noStream");
      positions.push(position);
    }
    expect([...positions].sort()).toEqual(positions);
    expect(new Set(positions).size).toBe(positions.length);
    expect(from >= LOG_START && (positions[0] as string) > from).toBe(true);
    const all = await collect(store().readAll(from, { streamPrefixes: ["ordered-"] }));
    const inLog = all.events.map(({ position }) => position);
    expect([...inLog].sort()).toEqual(inLog);
    const fromJson = JSON.parse(JSON.stringify(positions[9])) as Position;
    const rest = await collect(store().readAll(fromJson, { streamPrefixes: ["ordered-"] }));
    expect(rest.events).toHaveLength(20);
  });

  it("the head never precedes a position that a reader or an append was given", async () => {
    const { position } = await mustAppend(store(), fresh("head"), [newEvent()], "noStream");
    expect((await store().head()) >= position).toBe(true);
    await store().truncateBefore(fresh("head"), 1);
    const all = await collect(store().readAll(LOG_START, { types: [fresh("Nothing")] }));
    expect(all.events).toEqual([]);
    const reached = all.batches.at(-1)?.position as Position;
    expect((await store().head()) >= reached).toBe(true);
    expect(reached >= position).toBe(true);
  });
}

function subscriptions({ open, store, it }: Suite): void {
  /** A subscription that ends with the test. */
  const following = async (from: Position, filter: LogFilter, body: (seen: Seen) => Promise<void>) => {
    const reader = new AbortController();
    const { seen, ended } = follow(store(), from, filter, reader.signal);
    try {
      await Promise.race([body(seen), ended.then(() => Promise.reject(new Error("the subscription ended")))]);
    } finally {
      reader.abort();
      await withinTime(ended, "the subscription to end");
    }
  };

  it("a subscription catches up, reports that, and then sees new events", async () => {
    const from = await store().head();
    const type = fresh("Followed");
    const stream = fresh("followed");
    const old = Array.from({ length: 700 }, () => newEvent(type));
    await mustAppend(store(), stream, old, "noStream");
    await following(from, { types: [type] }, async (seen) => {
      await until(() => seen.isCaughtUp, "the subscription to catch up");
      expect(idsOf(seen.events)).toEqual(idsOf(old));
      const recent = Array.from({ length: 50 }, () => newEvent(type));
      for (const [n, event] of recent.entries()) await mustAppend(store(), stream, [event], 699 + n);
      await until(() => seen.events.length >= 750 && seen.isCaughtUp, "the new events");
      expect(idsOf(seen.events)).toEqual(idsOf([...old, ...recent]));
    });
  });

  it("a subscription that matches no event reports that it has caught up", async () => {
    const head = await store().head();
    await following(head, { types: [fresh("Nothing")] }, (seen) =>
      until(() => seen.isCaughtUp, "the new events"),
    );
    await following(LOG_START, { types: [fresh("Nothing")] }, async (seen) => {
      await until(() => seen.isCaughtUp && seen.position >= head, "the head");
      expect(seen.events).toEqual([]);
    });
  });

  it("a subscription's position follows the head though nothing matches", async () => {
    await following(await store().head(), { types: [fresh("Nothing")] }, async (seen) => {
      await until(() => seen.isCaughtUp, "the subscription to catch up");
      for (let n = 0; n < 3; n += 1) {
        const { position } = await mustAppend(store(), fresh("unmatched"), [newEvent()], "noStream");
        await until(() => seen.position >= position && seen.isCaughtUp, "the position to reach the head");
      }
      const stream = fresh("unmatched");
      await mustAppend(store(), stream, [newEvent(), newEvent()], "noStream");
      await store().truncateBefore(stream, 1);
      const head = await store().head();
      await until(() => seen.position >= head, "the position to reach the head after a truncation");
    });
  });

  it("a subscription sees what another handle appends", async () => {
    const other = await open();
    const type = fresh("Elsewhere");
    await following(await store().head(), { types: [type] }, async (seen) => {
      await until(() => seen.isCaughtUp, "the subscription to catch up");
      const events = Array.from({ length: 20 }, () => newEvent(type));
      for (const event of events) await mustAppend(other, fresh("elsewhere"), [event], "noStream");
      await until(() => seen.events.length >= 20, "the other handle's events");
      expect(idsOf(seen.events)).toEqual(idsOf(events));
    });
  });

  it("a reader of a reopened store resumes from its checkpoint, with no gap and no repeat", async () => {
    const type = fresh("Reopened");
    let position = await store().head();
    const seen: RecordedEvent[] = [];
    const written: NewEvent[] = [];
    for (let round = 0; round < 4; round += 1) {
      const reader = await open();
      const { seen: now, ended } = follow(reader, position, { types: [type] }, new AbortController().signal);
      const events = Array.from({ length: 40 }, () => newEvent(type));
      written.push(...events);
      for (const event of events) await mustAppend(store(), fresh("reopened"), [event], "noStream");
      await until(() => now.events.length > 0, "some events");
      await reader.close();
      await ended.catch(() => {});
      seen.push(...now.events);
      position = now.position;
    }
    const rest = await collect(store().readAll(position, { types: [type] }));
    expect(idsOf([...seen, ...rest.events])).toEqual(idsOf(written));
  });

  it("a slow reader delays nobody and misses nothing", async () => {
    const type = fresh("Slow");
    const from = await store().head();
    const reader = new AbortController();
    const batches = store()
      .subscribe(from, { types: [type] }, reader.signal)
      [Symbol.asyncIterator]();
    while (!(await batches.next()).value?.caughtUp);
    const events = Array.from({ length: 3_000 }, (_, n) => newEvent(type, { n, text: "x".repeat(500) }));
    for (let n = 0; n < events.length; n += 100) {
      await mustAppend(store(), fresh("slow"), events.slice(n, n + 100), "noStream");
    }
    const seen: RecordedEvent[] = [];
    while (seen.length < events.length) {
      const { value, done } = await withinTime(batches.next(), "the next batch");
      if (done) break;
      seen.push(...value.events);
    }
    expect(idsOf(seen)).toEqual(idsOf(events));
    reader.abort();
    expect((await withinTime(batches.next(), "the end")).done).toBe(true);
  });

  it("a subscription ends when its reader leaves, even while it waits", async () => {
    const reader = new AbortController();
    const { seen, ended } = follow(store(), await store().head(), { types: [fresh("None")] }, reader.signal);
    await until(() => seen.isCaughtUp, "the subscription to catch up");
    reader.abort();
    await withinTime(ended, "the subscription to end");
    const aborted = follow(store(), LOG_START, {}, AbortSignal.abort());
    await withinTime(aborted.ended, "a subscription that was never wanted to end");
    expect(aborted.seen.events).toEqual([]);
  });
}

function truncation({ store, it }: Suite): void {
  it("truncation hides events but changes no revision", async () => {
    const stream = fresh("truncated");
    const events = Array.from({ length: 5 }, () => newEvent());
    await mustAppend(store(), stream, events, "noStream");
    await store().truncateBefore(stream, 3);
    expect((await store().read(stream, 0, 10)).map(({ revision }) => revision)).toEqual([3, 4]);
    expect((await store().read(stream, 1, 1)).map(({ revision }) => revision)).toEqual([3]);
    expect(await store().lastRevision(stream)).toBe(4);
    const conflicting = await store().append(stream, [newEvent()], "noStream");
    expect(conflicting).toEqual({ outcome: "wrongExpectedRevision", actual: 4 });
    expect((await mustAppend(store(), stream, [newEvent()], 4)).revision).toBe(5);
  });

  it("a fully truncated stream keeps its revision and refuses first appends", async () => {
    const stream = fresh("emptied");
    await mustAppend(store(), stream, [newEvent(), newEvent(), newEvent()], "noStream");
    await store().truncateBefore(stream, 3);
    expect(await store().read(stream, 0, 10)).toEqual([]);
    expect(await store().lastRevision(stream)).toBe(2);
    const conflicting = await store().append(stream, [newEvent()], "noStream");
    expect(conflicting).toEqual({ outcome: "wrongExpectedRevision", actual: 2 });
    const next = newEvent();
    expect((await mustAppend(store(), stream, [next], 2)).revision).toBe(3);
    expect(idsOf(await store().read(stream, 0, 10))).toEqual([next.id]);
  });

  it("truncation can be repeated and never brings anything back", async () => {
    const stream = fresh("again");
    await mustAppend(store(), stream, [newEvent(), newEvent(), newEvent()], "noStream");
    await store().truncateBefore(stream, 2);
    await store().truncateBefore(stream, 2);
    await store().truncateBefore(stream, 1);
    await Promise.all([store().truncateBefore(stream, 2), store().truncateBefore(stream, 2)]);
    expect((await store().read(stream, 0, 10)).map(({ revision }) => revision)).toEqual([2]);
  });

  it("lists truncated streams; the last entry of each is current", async () => {
    const [once, twice, never] = [fresh("once"), fresh("twice"), fresh("never")];
    for (const stream of [once, twice, never]) {
      await mustAppend(store(), stream, [newEvent(), newEvent(), newEvent()], "noStream");
    }
    await store().truncateBefore(once, 2);
    await store().truncateBefore(twice, 1);
    await store().truncateBefore(twice, 3);
    const seenCounts = new Map<string, number>();
    for await (const page of store().truncations()) {
      for (const { stream, before } of page) seenCounts.set(stream, before);
    }
    expect([once, twice, never].map((stream) => seenCounts.get(stream))).toEqual([2, 3, undefined]);
  });
  it("truncation past the end hides no later event, and an unwritten stream stays open", async () => {
    const stream = fresh("past");
    await mustAppend(store(), stream, [newEvent(), newEvent()], "noStream");
    await store().truncateBefore(stream, 50);
    const next = newEvent();
    await mustAppend(store(), stream, [next], 1);
    expect(idsOf(await store().read(stream, 0, 10))).toEqual([next.id]);
    const emptyStream = fresh("unwritten");
    await store().truncateBefore(emptyStream, 3);
    expect(await store().lastRevision(emptyStream)).toBeNull();
    await mustAppend(store(), emptyStream, [newEvent()], "noStream");
    expect(await store().read(emptyStream, 0, 10)).toHaveLength(1);
  });
}

function purging({ store, it }: Suite): void {
  it("purging removes all truncated content and leaves everything else unchanged", async () => {
    const from = await store().head();
    const prefix = fresh("purged");
    const small = await mustAppend(store(), `${prefix}-small`, [newEvent(), newEvent()], "noStream");
    const bytes = new Uint8Array(300_000).fill(7);
    await mustAppend(store(), `${prefix}-large`, [newEvent("Large", bytes), newEvent()], "noStream");
    const event = newEvent("Kept", bytes);
    await mustAppend(store(), `${prefix}-kept`, [event], "noStream");
    for (const name of ["small", "large"]) await store().truncateBefore(`${prefix}-${name}`, 1);
    expect(await store().purge()).toEqual({ remains: [] });
    const [whole] = await store().read(`${prefix}-kept`, 0, 10);
    expect(whole).toMatchObject({ id: event.id, data: bytes });
    for (const name of ["small", "large"]) {
      const stream = `${prefix}-${name}`;
      expect((await store().read(stream, 0, 10)).map(({ revision }) => revision)).toEqual([1]);
      expect(await store().lastRevision(stream)).toBe(1);
      expect(await store().append(stream, [newEvent()], "noStream")).toMatchObject({ actual: 1 });
      expect((await mustAppend(store(), stream, [newEvent()], 1)).revision).toBe(2);
    }
    // A reader's position may be that of a purged event.
    for (const place of [from, small.position]) {
      const { events } = await collect(store().readAll(place, { streamPrefixes: [prefix] }));
      const seen = events.map(({ stream, revision }) => `${stream.slice(prefix.length)} ${revision}`);
      expect(seen.filter((one) => one !== "-small 1" || place === from)).toEqual([
        ...(place === from ? ["-small 1"] : []),
        "-large 1",
        "-kept 0",
        "-small 2",
        "-large 2",
      ]);
    }
  });

  it("several callers can purge at once while others append", async () => {
    const stream = fresh("purged");
    await mustAppend(store(), stream, [newEvent()], "noStream");
    const purges = [store().purge(), store().purge()];
    for (let revision = 0; revision < 5; revision += 1)
      await mustAppend(store(), stream, [newEvent()], revision);
    expect(await Promise.all(purges)).toEqual([{ remains: [] }, { remains: [] }]);
    expect(await store().read(stream, 0, 10)).toHaveLength(6);
  });
}

function payloads({ store, it }: Suite): void {
  const roundTrip = async (events: readonly NewEvent[]) => {
    const from = await store().head();
    const stream = fresh("payload");
    await mustAppend(store(), stream, events, "noStream");
    const read = await store().read(stream, 0, events.length);
    const all = await collect(store().readAll(from, { streamPrefixes: [stream] }));
    for (const recorded of [read, all.events]) {
      expect(recorded.map(({ id, type, data, metadata }) => ({ id, type, data, metadata }))).toEqual([
        ...events,
      ]);
    }
  };

  it("JSON comes back unchanged", async () => {
    await roundTrip([
      newEvent("Json", {}),
      newEvent("Json", {
        nested: { list: [1, 2.5, -0.1, null, true, "x"], empty: [] },
        big: 9_007_199_254_740_991,
      }),
      newEvent("Json", { text: 'Zoë 🎉 "quoted" \\ \u0000 \u2028 \u007f', clé: "naïve", __proto: 1 }),
      { ...newEvent("Json"), metadata: { a: { b: ["ü", 1, null] } } },
      { ...newEvent("Json"), metadata: {} },
    ]);
  });

  it("bytes come back as bytes", async () => {
    await roundTrip([
      newEvent("Bytes", new Uint8Array(0)),
      newEvent(
        "Bytes",
        Uint8Array.from({ length: 256 }, (_, byte) => byte),
      ),
      newEvent("Bytes", new TextEncoder().encode('{"looks":"like JSON"}')),
      newEvent("Mixed", { json: true }),
    ]);
  });

  it("an event of 900 kB comes back whole, as JSON and as bytes", async () => {
    await roundTrip([newEvent("Large", { text: "ä".repeat(450_000) })]);
    const bytes = new Uint8Array(900_000).map((_, n) => (n * 31) % 251);
    await roundTrip([newEvent("Large", bytes)]);
  });

  it("an append over the limit is refused as too large and writes nothing", async () => {
    const stream = fresh("large");
    const metadata = { pad: "x".repeat(999) };
    const half = { ...newEvent("Half", new Uint8Array(APPEND_BYTES_MAX / 2)), metadata };
    for (const events of [
      [newEvent("Over", new Uint8Array(APPEND_BYTES_MAX + 1))],
      [half, { ...half, id: crypto.randomUUID() }],
    ]) {
      expect((await refusal(store().append(stream, events, "noStream"))).failure).toBe("tooLarge");
    }
    expect(await store().lastRevision(stream)).toBeNull();
    const exact = { ...newEvent("Exact", new Uint8Array(APPEND_BYTES_MAX - 2)), metadata: {} };
    await mustAppend(store(), stream, [exact], "noStream");
  });

  it("data that cannot be serialised is refused, and the store keeps working", async () => {
    const stream = fresh("unserialisable");
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    for (const data of [{ big: 1n }, cycle]) {
      const outcome = store().append(stream, [newEvent("Bad", data)], "noStream");
      await expect(outcome).rejects.toThrow();
    }
    await mustAppend(store(), stream, [newEvent()], "noStream");
  });
}

function bounds({ subject, open, it }: Suite): void {
  it(
    "every call on a store that does not answer settles within a second of its time-out",
    async () => {
      const timeoutMs = 600;
      const store = await open();
      const stream = fresh("stalled");
      await mustAppend(store, stream, [newEvent()], "noStream");
      const release = (await subject.stall?.()) ?? (async () => {});
      const options = { timeoutMs };
      const calls: (() => Promise<unknown>)[] = [
        () => store.append(stream, [newEvent()], 0, options),
        () =>
          store.append(fresh("stalled"), [newEvent("Large", new Uint8Array(900_000))], "noStream", options),
        () => store.read(stream, 0, 10, options),
        () => store.lastRevision(stream, options),
        () => store.head(options),
        () => store.truncateBefore(stream, 1, options),
        () => store.purge(options),
        () => collect(store.readAll(LOG_START, {}, options)),
      ];
      const started = performance.now();
      const settled = await Promise.all(
        calls.map(async (call) => {
          const failure = await call().then(
            () => null,
            (error: unknown) => (error instanceof StoreError ? error.failure : error),
          );
          return { failure, tookMs: performance.now() - started };
        }),
      ).finally(release);
      for (const { failure, tookMs } of settled) {
        expect([null, "unavailable", "outcomeUnknown"]).toContain(failure as string | null);
        expect(tookMs).toBeLessThan(timeoutMs + GRACE_MS);
      }
      expect(settled[0]?.failure).not.toBeNull();
      await until(async () => (await store.lastRevision(stream)) !== null, "the store to recover");
    },
    subject.stall !== undefined,
  );

  it(
    "a subscription ends as soon as its reader leaves, while the store does not answer",
    async () => {
      const store = await open();
      const reader = new AbortController();
      const { seen, ended } = follow(store, await store.head(), {}, reader.signal);
      await until(() => seen.isCaughtUp, "the subscription to catch up");
      const release = (await subject.stall?.()) ?? (async () => {});
      const unanswered = (timeoutMs: number) => store.head({ timeoutMs }).catch(() => "unanswered");
      try {
        // Meanwhile the quiet subscription has asked for the head.
        await unanswered(500);
        reader.abort();
        expect(await Promise.race([ended.then(() => "ended"), unanswered(2_000)])).toBe("ended");
      } finally {
        await release();
      }
    },
    subject.stall !== undefined,
  );

  it("a closed store refuses every call as unavailable, and can be closed again", async () => {
    const store = await open();
    const stream = fresh("closed");
    await mustAppend(store, stream, [newEvent()], "noStream");
    await store.close();
    await store.close();
    const calls = [
      () => store.append(stream, [newEvent()], 0),
      () => store.read(stream, 0, 10),
      () => store.lastRevision(stream),
      () => store.head(),
      () => store.truncateBefore(stream, 1),
      () => store.purge(),
      () => collect(store.readAll(LOG_START, {})),
    ];
    for (const call of calls) expect((await refusal(call())).failure).toBe("unavailable");
  });

  it("calls under way when the store closes settle", async () => {
    const store = await open();
    const streams = Array.from({ length: 20 }, () => fresh("closing"));
    const appends = streams.map((stream) => store.append(stream, [newEvent()], "noStream"));
    const settled = Promise.allSettled(appends);
    await store.close();
    const reader = await open();
    for (const [n, result] of (await settled).entries()) {
      const written = await reader.read(streams[n] as string, 0, 10);
      if (result.status === "fulfilled") expect(written).toHaveLength(1);
      else expect(result.reason).toBeInstanceOf(StoreError);
    }
  });
}

interface Step {
  readonly stream: number;
  readonly expected: ExpectedRevision | "right";
  readonly events: number;
  readonly repeat: boolean;
}

/** A model of some streams in memory: the event ids of each stream, and of all in order. */
class Model {
  readonly streams = new Map<string, string[]>();
  readonly order: string[] = [];

  currentRevision(stream: string): ExpectedRevision {
    const count = this.streams.get(stream)?.length ?? 0;
    return count === 0 ? "noStream" : count - 1;
  }

  append(stream: string, ids: readonly string[], expected: ExpectedRevision) {
    const held = this.streams.get(stream) ?? [];
    if (expected !== this.currentRevision(stream)) {
      return { outcome: "wrongExpectedRevision", actual: held.length === 0 ? null : held.length - 1 };
    }
    this.streams.set(stream, [...held, ...ids]);
    this.order.push(...ids);
    return { outcome: "appended", revision: held.length + ids.length - 1 };
  }
}

function model({ store, it }: Suite): void {
  const step: fc.Arbitrary<Step> = fc.record({
    stream: fc.integer({ min: 0, max: 2 }),
    expected: fc.oneof(
      fc.constant("noStream" as const),
      fc.integer({ min: 0, max: 6 }),
      fc.constant("right" as const),
    ),
    events: fc.integer({ min: 1, max: 3 }),
    repeat: fc.boolean(),
  });

  const applyStep = async (
    modelStore: Model,
    stream: string,
    { expected: expectation, events: count, repeat }: Step,
  ) => {
    const expected = expectation === "right" ? modelStore.currentRevision(stream) : expectation;
    const events = Array.from({ length: count }, () => newEvent("Modelled"));
    const predicted = modelStore.append(stream, idsOf(events), expected);
    const result = await store().append(stream, events, expected);
    expect(result).toMatchObject(predicted);
    if (repeat) expect(await store().append(stream, events, expected)).toEqual(result);
  };

  it("random appends leave what a trivial model says (property)", async () => {
    const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 15 }), async (steps) => {
      const from = await store().head();
      const prefix = `model${crypto.randomUUID()}-`;
      const modelStore = new Model();
      for (const one of steps) await applyStep(modelStore, `${prefix}${one.stream}`, one);
      for (const [stream, ids] of modelStore.streams) {
        expect(idsOf(await store().read(stream, 0, 100))).toEqual(ids);
      }
      const all = await collect(store().readAll(from, { streamPrefixes: [prefix] }));
      expect(idsOf(all.events)).toEqual(modelStore.order);
    });
    await fc.assert(property, { numRuns: 25 });
  });
}
