import { describe, test } from "bun:test";
import { eventStoreDbContract } from "../../contract/eventStoreDbContract.ts";
import { canStartEventStoreDb, startSecuredEventStoreDb } from "../../support/stores/eventstoredb.ts";

const server = canStartEventStoreDb ? await startSecuredEventStoreDb() : null;

describe("EventStoreDB with TLS and users keeps the event store's contract", () => {
  if (server === null) test.skip("all of it", () => {});
  else eventStoreDbContract("eventstoredb, secured", server, server.process);
});
