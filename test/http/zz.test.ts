import { test } from "bun:test";
import { eventStoreDb } from "../support/eventstoredb.ts";
import { EventStoreDBClient, eventTypeFilter, START, jsonEvent } from "@eventstore/db-client";
test("x", async () => {
  const s = await eventStoreDb();
  const c = EventStoreDBClient.connectionString(s!.url);
  for (const w of [512, 1, 32]) {
    const sub = c.subscribeToAll({ fromPosition: START, requiresLeader: true, filter: eventTypeFilter({ prefixes: ["Nothing"], maxSearchWindow: w, checkpointInterval: 1, checkpointReached: (_s, p) => console.log(w, "checkpoint", p) }) });
    sub.on("caughtUp", () => console.log(w, "caughtUp"));
    sub.on("data", (e) => console.log(w, "data", e.event?.type));
    await Bun.sleep(700);
    if (w === 512) await c.appendToStream("a-1", [jsonEvent({type: "Other", data: {}})]);
    await Bun.sleep(300);
    await sub.unsubscribe();
  }
}, 90000);
