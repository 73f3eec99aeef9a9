import { connectEventStoreDb } from "../../src/adapters/eventstoredb/eventStoreDb.ts";
import type { EventStoreDbServer, ServerProcess } from "../support/stores/eventstoredb.ts";
import { appendsInOrder } from "./appendsInOrder.ts";
import { eventStoreContract } from "./eventStore.ts";
import { eventStoreDbFaults } from "./eventStoreFaults.ts";

/**
 * The contract on a server, and what a network does to its clients. `process` is null for a server that must not be
 * paused. Call it inside a `describe`.
 */
export function eventStoreDbContract(
  name: string,
  server: EventStoreDbServer,
  process: ServerProcess | null,
): void {
  const { url } = server;
  const stall = async () => {
    await process?.pause();
    return async () => process?.resume();
  };
  eventStoreContract({
    name,
    open: (options) => connectEventStoreDb({ url, ...options }),
    ...(process ? { stall } : {}),
  });
  appendsInOrder({ name, open: () => connectEventStoreDb({ url, inOrder: true }) });
  eventStoreDbFaults(name, server);
}
