import { expect } from "bun:test";
import { type EventStore, LOG_START } from "../../src/ports/eventStore.ts";
import { contractTest, fresh, idsOf, newEvent, type StoreUnderTest } from "./eventStore.ts";

/** The order that a handle keeps, beyond the contract, when a log is imported through it. */
export function appendsInOrder({ name, open }: StoreUnderTest): void {
  const withStore = async (work: (store: EventStore) => Promise<void>) => {
    const store = await open();
    try {
      await work(store);
    } finally {
      await store.close();
    }
  };

  contractTest(name, "appends that do not await each other are in the log in the order of their calls", () =>
    withStore(async (store) => {
      const from = await store.head();
      const streams = Array.from({ length: 40 }, () => fresh("ordered"));
      const calls = Array.from({ length: 600 }, (_, index) => ({
        stream: streams[index % streams.length] as string,
        expected: index < streams.length ? ("noStream" as const) : Math.floor(index / streams.length) - 1,
        event: newEvent("Ordered", { index, filler: "x".repeat(index % 7 === 0 ? 20_000 : 10) }),
      }));
      const answers = await Promise.all(
        calls.map(({ stream, expected, event }) => store.append(stream, [event], expected)),
      );
      expect(answers.every(({ outcome }) => outcome === "appended")).toBe(true);
      const positions = answers.map((answer) =>
        answer.outcome === "appended" ? answer.position : LOG_START,
      );
      expect(positions).toEqual([...positions].sort());
      const read: string[] = [];
      for await (const { events } of store.readAll(from, { types: ["Ordered"] })) read.push(...idsOf(events));
      expect(read).toEqual(calls.map(({ event }) => event.id));
    }),
  );

  contractTest(name, "an append that loses among others says so, and the others stand as they are", () =>
    withStore(async (store) => {
      const stream = fresh("ordered");
      const answers = await Promise.all([
        store.append(stream, [newEvent()], "noStream"),
        store.append(stream, [newEvent()], 7),
        store.append(stream, [newEvent()], 0),
      ]);
      expect(answers.map(({ outcome }) => outcome)).toEqual([
        "appended",
        "wrongExpectedRevision",
        "appended",
      ]);
      expect(answers[1]).toEqual({ outcome: "wrongExpectedRevision", actual: 0 });
      expect(await store.lastRevision(stream)).toBe(1);
    }),
  );
}
