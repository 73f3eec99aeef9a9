import {
  canStartEventStoreDb,
  findEventStoreDb,
  type OwnServer,
  SERVER_VARIABLE,
  startEventStoreDb,
} from "../support/stores/eventstoredb.ts";
import type { Lane } from "./lanes.ts";

/** The EventStoreDB servers of a run. */
export interface LaneServers {
  /** The lanes that have one, so that files that need it may run there. */
  has(lane: Lane): boolean;
  /** What a file that runs in `lane` is started with, or so many one after the other. */
  env(lane: Lane, files?: number): Promise<Readonly<Record<string, string>>>;
  /** Ends those that we have started, or that of one lane. A lane that asks again gets a new one. */
  stop(lane?: Lane): Promise<void>;
}

/** Whether a test file asks for the server that test files share. */
export function usesSharedServer(text: string): boolean {
  return /\b(testStores|eventStoreDb)\(/.test(text);
}

/**
 * Each service of a test reads the whole log when it starts, and each file leaves thousands of events in it; but a new
 * server takes three seconds of a processor until it has compiled what every file asks of it.
 */
export const FILES_ON_A_SERVER_MAX = 8;

/**
 * How many lanes have a server. One that does nothing takes a twentieth of a processor, and files that need one are done
 * in fewer than half of the lanes.
 */
export const SERVER_LANES = 2;

/** Starts a server for one lane after another. */
export type StartServer = () => Promise<Pick<OwnServer, "url" | "port" | "folder" | "process">>;

/** A lane's server, and how many files have had it. */
interface LaneServer {
  readonly server: Awaited<ReturnType<StartServer>>;
  files: number;
}

/**
 * A server for each of some lanes, and after some files a new one: instances on one log deliver each other's mail, so two files
 * that run at once may not share a log.
 */
export function ownServers(start: StartServer): LaneServers {
  const current = new Map<Lane, LaneServer>();
  return {
    has: (lane) => lane < SERVER_LANES,
    async env(lane, files = 1) {
      let used = current.get(lane);
      if (used === undefined || used.files + files > FILES_ON_A_SERVER_MAX) {
        await used?.server.process.kill();
        used = { server: await start(), files: 0 };
        current.set(lane, used);
      }
      used.files += files;
      const { url, port, folder } = used.server;
      return { [SERVER_VARIABLE]: JSON.stringify({ url, port, folder }) };
    },
    async stop(lane) {
      const ended = [...current].filter(([of]) => lane === undefined || of === lane);
      for (const [of] of ended) current.delete(of);
      await Promise.all(ended.map(([, { server }]) => server.process.kill()));
    },
  };
}

/** Servers of our own where they can be started; one that is not ours belongs to the first lane alone. */
export async function laneServers(): Promise<LaneServers> {
  if (canStartEventStoreDb && !process.env.EVENTSTORE_URL) return ownServers(startEventStoreDb);
  const found = await findEventStoreDb();
  return {
    has: (lane) => found === null || lane === 0,
    env: async () => ({ [SERVER_VARIABLE]: JSON.stringify(found) }),
    stop: async () => {},
  };
}
