import {
  canStartEventStoreDb,
  type EventStoreDbServer,
  findEventStoreDb,
  SERVER_VARIABLE,
  startEventStoreDb,
} from "../support/stores/eventstoredb.ts";
import type { Lane } from "./lanes.ts";

/** The EventStoreDB servers of a run. */
export interface LaneServers {
  /** The lanes that have one, so that files that need it may run there. */
  has(lane: Lane): boolean;
  /** What a file that runs in `lane` is started with. */
  env(lane: Lane): Promise<Readonly<Record<string, string>>>;
}

/** Whether a test file asks for the server that test files share. */
export function usesSharedServer(text: string): boolean {
  return /\b(testStores|eventStoreDb)\(/.test(text);
}

/**
 * A server for each lane where they can be started: instances on one log deliver each other's mail, so two
 * files that run at once may not share a log. A server that is not ours belongs to the first lane alone.
 */
export async function laneServers(): Promise<LaneServers> {
  const isOurs = canStartEventStoreDb && !process.env.EVENTSTORE_URL;
  const found = isOurs ? null : await findEventStoreDb();
  const started = new Map<Lane, Promise<EventStoreDbServer | null>>();
  return {
    has: (lane) => isOurs || found === null || lane === 0,
    async env(lane) {
      if (isOurs && !started.has(lane)) started.set(lane, startEventStoreDb());
      const server = isOurs ? await started.get(lane) : found;
      return { [SERVER_VARIABLE]: JSON.stringify(server ?? null) };
    },
  };
}
