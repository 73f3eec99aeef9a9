import { describe } from "bun:test";
import { canStartEventStoreDb, startSecuredEventStoreDb } from "../support/stores/eventstoredb.ts";
import { eventStoreDbContract } from "./eventStoreDbContract.ts";

const server = canStartEventStoreDb ? await startSecuredEventStoreDb() : null;

describe.skipIf(!server)("EventStoreDB with TLS and users keeps the event store's contract", () => {
  if (server !== null) eventStoreDbContract("eventstoredb, secured", server, server.process);
});
