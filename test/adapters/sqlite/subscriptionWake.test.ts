import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { openSqliteEventStore } from "../../../src/adapters/sqlite/sqliteEventStore.ts";
import { type EventStore, LOG_START } from "../../../src/ports/eventStore.ts";
import { newEvent } from "../../contract/eventStore.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";
import { until } from "../../support/until.ts";

/** A timer of at least this many ms counts as a slow poll. */
const SLOW_POLL_MS = 50;
const realSetTimeout = globalThis.setTimeout;

let folder: string;
let stores: EventStore[];
const open = () => {
  const store = openSqliteEventStore({ path: join(folder, "log.db") });
  stores.push(store);
  return store;
};

beforeEach(() => {
  folder = temporaryFolder();
  stores = [];
});

afterEach(async () => {
  globalThis.setTimeout = realSetTimeout;
  for (const store of stores) await store.close();
});

test("an idle subscription, which polls rarely, is woken by the first commit of another handle", async () => {
  const [follower, writer] = [open(), open()];
  const seen: string[] = [];
  const stopping = new AbortController();
  const following = (async () => {
    for await (const { events } of follower.subscribe(LOG_START, {}, stopping.signal))
      seen.push(...events.map(({ stream }) => stream));
  })();
  let slowPolls = 0;
  globalThis.setTimeout = ((work: () => void, ms = 0) => {
    if (ms < SLOW_POLL_MS) return realSetTimeout(work, ms);
    slowPolls += 1;
    return realSetTimeout(() => {}, ms);
  }) as typeof setTimeout;
  await until(() => slowPolls > 0, "the subscription to poll rarely");
  await writer.append("one", [newEvent()], "noStream");
  await until(() => seen.length === 1, "the event");
  await writer.append("two", [newEvent()], "noStream");
  await until(() => seen.length === 2, "the next event, which wakes nobody");
  expect(seen).toEqual(["one", "two"]);
  stopping.abort();
  await following;
});
