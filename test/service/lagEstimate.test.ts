import { expect, test } from "bun:test";
import { LOG_START } from "../../src/ports/eventStore.ts";
import { eventsBetween, openStore } from "../../src/service/adapters/openStore.ts";
import { mustAppend, newEvent } from "../contract/eventStore.ts";
import { testStores } from "../support/stores/stores.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";

/** About what the acceptance of a short message takes. */
const DATA = { text: "x".repeat(300) };
const COUNT = 2_000;
/** How far off an estimate may be. */
const FACTOR_MAX = 3;

test.each(await testStores())(
  "the events between two positions are counted or estimated on $name",
  async ({ name, env }) => {
    const directory = temporaryFolder();
    const config = { storeUrl: env.STORE_URL ?? `file:${directory}`, storeTimeoutMs: 5_000 };
    const store = await openStore(config);
    try {
      const from = (await mustAppend(store, `between-${crypto.randomUUID()}`, [newEvent()], "noStream"))
        .position;
      const events = Array.from({ length: COUNT }, () => newEvent("Happened", DATA));
      const to = (await mustAppend(store, `between-${crypto.randomUUID()}`, events, "noStream")).position;
      const counted = eventsBetween(config, from, to);
      if (name === "SQLite")
        expect([counted, eventsBetween(config, LOG_START, to)]).toEqual([COUNT, COUNT + 1]);
      else {
        // Other tests may write to the same server meanwhile, far fewer than these.
        expect(counted).toBeGreaterThan(COUNT / FACTOR_MAX);
        expect(counted).toBeLessThan(COUNT * FACTOR_MAX);
      }
      expect([eventsBetween(config, to, to), eventsBetween(config, to, from)]).toEqual([0, 0]);
      expect(eventsBetween(config, LOG_START, to)).toBeGreaterThanOrEqual(counted);
    } finally {
      await store.close();
    }
  },
);
