import { newRequestId } from "../../kernel/ids.ts";
import { reasonOf } from "../../kernel/text/errorReason.ts";
import { Problem } from "./problem.ts";
import { problemResponse } from "./problemResponse.ts";
import { requestHandler, type ServerOptions } from "./requestHandler.ts";

interface PortOptions {
  readonly host: string;
  readonly port: number;
}

/** How long a connection may be silent, in seconds: ends slow headers and slow uploads. */
const IDLE_TIMEOUT_SECONDS = 30;

/**
 * Bun's own guard is off: it would answer a bare 413, and before the key is looked at. Our bound is kept
 * while a body is read, and what nobody reads Bun throws away as it comes.
 */
const BUN_BODY_BYTES_MAX = Number.MAX_SAFE_INTEGER;

type Fetch = ReturnType<typeof requestHandler>;

/** A port that is taken. */
export interface OpenPort {
  readonly url: URL;
  /** From now on requests are answered; those that have come before have waited for it. */
  answer(options: ServerOptions): void;
  /** Requests that have no whole answer yet. */
  pending(): number;
  /** Lets what is in flight finish and refuses what is new. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

/** Takes the port: the service's address must be known before the service is made. */
export function openPort({ host, port, log }: Pick<ServerOptions, "log"> & PortOptions): OpenPort {
  const made = Promise.withResolvers<Fetch>();
  let fetch: Fetch = async (request, connections) => (await made.promise)(request, connections);
  const server = Bun.serve({
    hostname: host,
    port,
    idleTimeout: IDLE_TIMEOUT_SECONDS,
    maxRequestBodySize: BUN_BODY_BYTES_MAX,
    // Else Bun answers what escapes us with a page that shows our source. Out of development it would also let a
    // second service take half of the requests on this port.
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
    stop: () => server.stop(false),
    kill: () => server.stop(true),
  };
}
