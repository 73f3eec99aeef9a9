import { expect } from "bun:test";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { EventStoreDBClient } from "@eventstore/db-client";
import { connectEventStoreDb } from "../../src/adapters/eventstoredb/eventStoreDb.ts";
import { type EventStore, type NewEvent, StoreError } from "../../src/ports/eventStore.ts";
import {
  type EventStoreDbServer,
  freePort,
  type ServerProcess,
  urlThrough,
} from "../support/stores/eventstoredb.ts";
import { until } from "../support/until.ts";
import {
  contractTest,
  follow,
  fresh,
  idsOf,
  mustAppend,
  newEvent,
  refusal,
  withinTime,
} from "./eventStore.ts";

const GRACE_MS = 1_000;

/** A TCP proxy in front of the server that can delay answers and drop connections. */
async function startProxy(upstream: EventStoreDbServer) {
  const pairs = new Set<readonly [Socket, Socket]>();
  const state = { isHolding: false };
  const dead = new Set<Socket>();
  let held: (() => void)[] = [];
  const server = createServer((client) => {
    const target = connect(upstream.port, "127.0.0.1");
    const pair = [client, target] as const;
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      for (const socket of pair) socket.destroy();
    };
    for (const socket of pair) socket.on("error", end).on("close", end);
    client.on("data", (bytes) => target.write(bytes));
    target.on("data", (bytes) => {
      if (dead.has(client)) return;
      if (state.isHolding) held.push(() => client.write(bytes));
      else client.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const drop = () => {
    for (const pair of [...pairs]) for (const socket of pair) socket.destroy();
  };
  return {
    url: urlThrough(upstream, port),
    /** From now on requests reach the server but no answer comes back. */
    hold: () => {
      state.isHolding = true;
    },
    /** Releases the answers that were held back. */
    release: () => {
      state.isHolding = false;
      for (const write of held.splice(0)) write();
    },
    /** Drops every connection; new ones are let through. */
    dropAndPass: () => {
      state.isHolding = false;
      held = [];
      drop();
    },
    /** Existing connections stay open but never deliver another answer. */
    deaden: () => {
      for (const [client] of pairs) dead.add(client);
    },
    close: () => {
      drop();
      server.close();
    },
  };
}

/** What only a server across a network does to its clients. Call it inside a `describe`. */
export function eventStoreDbFaults(name: string, server: EventStoreDbServer): void {
  const it = contractTest.bind(null, name);
  const open = (url = server.url, timeoutMs = 5_000) => connectEventStoreDb({ url, timeoutMs });
  const closing = async (stores: readonly EventStore[], body: () => Promise<void>) => {
    try {
      await body();
    } finally {
      await Promise.all(stores.map((store) => store.close()));
    }
  };

  it("an append whose connection drops after the request went through succeeds, once", async () => {
    const proxy = await startProxy(server);
    const [direct, store] = [await open(), await open(proxy.url)];
    await closing([direct, store], async () => {
      for (const count of [1, 3]) {
        const stream = fresh("dropped");
        await mustAppend(store, fresh("warm"), [newEvent()], "noStream");
        const events = Array.from({ length: count }, () => newEvent());
        proxy.hold();
        const appended = store.append(stream, events, "noStream");
        await until(async () => (await direct.lastRevision(stream)) === count - 1, "the event to be written");
        proxy.dropAndPass();
        expect(await appended).toMatchObject({ outcome: "appended", revision: count - 1 });
        expect(idsOf(await direct.read(stream, 0, 10))).toEqual(idsOf(events));
      }
    });
    proxy.close();
  });

  it("a store is closed soon although a call gets no answer, and the call ends by its deadline", async () => {
    const proxy = await startProxy(server);
    const store = await open(proxy.url, 3_000);
    await store.head();
    proxy.hold();
    const call = refusal(store.lastRevision(fresh("closing")));
    const began = performance.now();
    await store.close();
    expect(performance.now() - began).toBeLessThan(2_000);
    expect((await call).failure).toBe("unavailable");
    proxy.close();
  });

  it("an append that lost is reported as such even if the connection dropped meanwhile", async () => {
    const proxy = await startProxy(server);
    const [direct, store] = [await open(), await open(proxy.url)];
    await closing([direct, store], async () => {
      const stream = fresh("dropped");
      await mustAppend(direct, stream, [newEvent()], "noStream");
      await store.head();
      proxy.hold();
      const appended = store.append(stream, [newEvent()], "noStream");
      await mustAppend(direct, stream, [newEvent()], 0);
      proxy.dropAndPass();
      expect(await appended).toEqual({ outcome: "wrongExpectedRevision", actual: 1 });
    });
    proxy.close();
  });

  it("an append without an answer ends as unknown by its deadline, and may have been written", async () => {
    const proxy = await startProxy(server);
    const [direct, store] = [await open(), await open(proxy.url)];
    await closing([direct, store], async () => {
      const stream = fresh("unanswered");
      await mustAppend(store, fresh("warm"), [newEvent()], "noStream");
      proxy.hold();
      const started = performance.now();
      const event = newEvent();
      const { failure } = await refusal(store.append(stream, [event], "noStream", { timeoutMs: 700 }));
      expect(failure).toBe("outcomeUnknown");
      expect(performance.now() - started).toBeLessThan(700 + GRACE_MS);
      expect(idsOf(await direct.read(stream, 0, 10))).toEqual([event.id]);
      proxy.dropAndPass();
      // A caller that keeps the ids can repeat the append and learns the outcome.
      expect(await store.append(stream, [event], "noStream")).toMatchObject({
        outcome: "appended",
        revision: 0,
      });
    });
    proxy.close();
  });

  it("one append's time-out does not end another on the same connection", async () => {
    const proxy = await startProxy(server);
    const store = await open(proxy.url);
    await closing([store], async () => {
      await mustAppend(store, fresh("warm"), [newEvent()], "noStream");
      proxy.hold();
      const withLongTimeout = store.append(fresh("patient"), [newEvent()], "noStream");
      const withShortTimeout = store.append(fresh("hasty"), [newEvent()], "noStream", { timeoutMs: 200 });
      expect((await refusal(withShortTimeout)).failure).toBe("outcomeUnknown");
      proxy.release();
      expect(await withLongTimeout).toMatchObject({ outcome: "appended", revision: 0 });
    });
    proxy.close();
  });

  it("a dead connection is replaced, and the appends it carried are written once", async () => {
    const proxy = await startProxy(server);
    const [direct, store] = [await open(), await open(proxy.url, 8_000)];
    await closing([direct, store], async () => {
      await mustAppend(store, fresh("warm"), [newEvent()], "noStream");
      proxy.deaden();
      const streams = Array.from({ length: 20 }, () => fresh("dead"));
      const results = await Promise.all(
        streams.map((stream) => store.append(stream, [newEvent(), newEvent()], "noStream")),
      );
      expect(results.map(({ outcome }) => outcome)).toEqual(streams.map(() => "appended"));
      for (const stream of streams) expect((await direct.read(stream, 0, 10)).length).toBe(2);
    });
    proxy.close();
  });

  it("many large appends at once wait for each other, and small ones get through", async () => {
    const store = await open(server.url, 20_000);
    await closing([store], async () => {
      const large = () => newEvent("Large", { filler: "x".repeat(700_000) });
      const results = await Promise.all(
        Array.from({ length: 60 }, (_, n) =>
          store.append(fresh("large"), [n % 2 === 0 ? large() : newEvent()], "noStream"),
        ),
      );
      expect(results.every(({ outcome }) => outcome === "appended")).toBe(true);
    });
  });

  it("with nobody listening every call is unavailable by its deadline", async () => {
    // Long enough for a busy machine to see the refusal; before that an append may have been written.
    const timeoutMs = 1_500;
    const store = await open(urlThrough(server, await freePort()), timeoutMs);
    await closing([store], async () => {
      const calls = [
        () => store.append(fresh("away"), [newEvent()], "noStream"),
        () => store.read(fresh("away"), 0, 1),
        () => store.lastRevision(fresh("away")),
        () => store.head(),
        () => store.truncateBefore(fresh("away"), 1),
      ];
      for (const call of calls) {
        const started = performance.now();
        expect((await refusal(call())).failure).toBe("unavailable");
        expect(performance.now() - started).toBeLessThan(timeoutMs + GRACE_MS);
      }
    });
  });

  it("an invalid connection string is refused when the store is opened", async () => {
    await expect(open("postgres://127.0.0.1/x")).rejects.toThrow();
  });

  it("truncation leaves a stream's other metadata alone", async () => {
    const store = await open();
    const client = EventStoreDBClient.connectionString(server.url);
    await closing([store], async () => {
      const stream = fresh("metadata");
      await mustAppend(store, stream, [newEvent(), newEvent()], "noStream");
      await client.setStreamMetadata(stream, { maxCount: 40, owner: "somebody" });
      await store.truncateBefore(stream, 1);
      const { metadata } = await client.getStreamMetadata(stream);
      expect(metadata).toEqual({ maxCount: 40, owner: "somebody", truncateBefore: 1 });
    });
    await client.dispose();
  });
}

/** What a dying server does to its clients. Call it inside a `describe`. */
export function eventStoreDbRestarts(
  store: string,
  { url }: EventStoreDbServer,
  server: ServerProcess | null,
): void {
  const open = () => connectEventStoreDb({ url, timeoutMs: 5_000 });
  const it = (name: string, body: (process: ServerProcess) => Promise<void>) =>
    contractTest(
      store,
      name,
      async () => {
        if (server) await body(server);
      },
      server !== null,
    );

  it("a subscription outlives the server's death, with no gap and no repeat", async (process) => {
    const store = await open();
    const type = fresh("Outlived");
    const reader = new AbortController();
    const { seen, ended } = follow(store, await store.head(), { types: [type] }, reader.signal);
    const written: NewEvent[] = [];
    const write = async (count: number) => {
      for (let n = 0; n < count; n += 1) {
        const event = newEvent(type);
        await mustAppend(store, fresh("outlived"), [event], "noStream");
        written.push(event);
      }
    };
    const allArrived = () => until(() => seen.events.length >= written.length, "the written events");
    await write(50);
    await allArrived();
    for (let round = 0; round < 2; round += 1) {
      await process.kill();
      await process.start();
      await until(
        () =>
          store.head().then(
            () => true,
            () => false,
          ),
        "the server to recover",
      );
      await write(50);
      await allArrived();
    }
    await until(() => seen.isCaughtUp, "the subscription to catch up");
    expect(idsOf(seen.events)).toEqual(idsOf(written));
    reader.abort();
    await withinTime(ended, "the subscription to end");
    await store.close();
  });

  it("appends while the server dies are in the log once when they succeeded, and never twice", async (process) => {
    const store = await open();
    const attempts = new Map<string, "appended" | "unavailable" | "outcomeUnknown">();
    let isDone = false;
    const writers = Array.from({ length: 16 }, async () => {
      while (!isDone) {
        const stream = fresh("dying");
        const outcome = await store.append(stream, [newEvent(), newEvent()], "noStream").then(
          (result) => (result.outcome === "appended" ? "appended" : "outcomeUnknown"),
          (error: unknown) => {
            if (error instanceof StoreError && error.failure !== "tooLarge") return error.failure;
            throw error;
          },
        );
        attempts.set(stream, outcome);
      }
    });
    await until(() => attempts.size > 200, "some appends");
    await process.kill();
    await process.start();
    const before = attempts.size;
    await until(() => attempts.size > before + 200, "appends after the restart");
    isDone = true;
    await Promise.all(writers);
    const expected = { appended: [2], unavailable: [0], outcomeUnknown: [0, 2] };
    for (const [stream, outcome] of attempts) {
      expect(expected[outcome]).toContain((await store.read(stream, 0, 10)).length);
    }
    await store.close();
  });
}
