import { settleWithin } from "../../kernel/concurrency/sleep.ts";
import { newRequestId } from "../../kernel/ids.ts";
import { reasonOf } from "../../kernel/text/errorReason.ts";
import { Problem } from "./problem.ts";
import { problemResponse } from "./problemResponse.ts";
import { requestHandler, type ServerOptions } from "./requestHandler.ts";

interface PortOptions {
  readonly host: string;
  readonly port: number;
}

/** How long a connection may be idle, in seconds. For the head of its first request Bun gives it 10 s in any case. */
const IDLE_TIMEOUT_SECONDS = 30;

/** How long a stop waits for the rest of a request's head, in ms. */
const HEAD_MS_MAX = 500;

/**
 * Turns Bun's own guard off: it would answer a bare 413, before the key is checked. Our own limit applies while a
 * body is read, and Bun discards a body that nobody reads.
 */
const BUN_BODY_BYTES_MAX = Number.MAX_SAFE_INTEGER;

type Fetch = ReturnType<typeof requestHandler>;

export interface OpenPort {
  readonly url: URL;
  /** Starts answering requests; those that came before have waited for it. */
  answer(options: ServerOptions): void;
  /** Requests without a complete answer yet. */
  pending(): number;
  /** Lets what is in flight finish and refuses what is new. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

/** Opens the port. This comes first because the service needs to know its own address. */
export function openPort({ host, port, log }: Pick<ServerOptions, "log"> & PortOptions): OpenPort {
  const made = Promise.withResolvers<Fetch>();
  let fetch: Fetch = async (request, connections) => (await made.promise)(request, connections);
  const server = Bun.serve({
    hostname: host,
    port,
    idleTimeout: IDLE_TIMEOUT_SECONDS,
    maxRequestBodySize: BUN_BODY_BYTES_MAX,
    // Otherwise Bun answers an uncaught error with a page that shows our source. Outside development it would also
    // let a second service take half of this port's requests.
    development: false,
    reusePort: false,
    error(error) {
      const requestId = newRequestId();
      log.failed(requestId, reasonOf(error));
      return problemResponse(new Problem("INTERNAL_ERROR"), requestId);
    },
    fetch: (request, connections) => fetch(request, connections),
  });
  return {
    url: server.url,
    answer(options) {
      fetch = requestHandler(options);
      made.resolve(fetch);
    },
    pending: () => server.pendingRequests,
    async stop() {
      let isStopped = false;
      const stopped = server.stop(false).then(() => {
        isStopped = true;
      });
      // Bun also waits, for 10 s, for clients that have sent a part of a request's head.
      do await settleWithin(HEAD_MS_MAX, stopped, () => {});
      while (!isStopped && server.pendingRequests > 0);
      await server.stop(true);
    },
    kill: () => server.stop(true),
  };
}
