import { RECEIVER_CERTIFICATE, RECEIVER_KEY } from "../support/webhook/receiverCertificate.ts";

/** What an HTTPS receiver in a process of its own has got. */
export interface WebhookSink {
  readonly port: number;
  /** Calls to {@link HEALTHY_PATH}. */
  received(): number;
  /** From an event's time to its arrival in ms, in order of arrival, of such calls since the last time. */
  latencies(): Promise<readonly number[]>;
  stop(): void;
}

/** Calls to this path are counted and timed; to any other they are answered only, or not even that. */
export const HEALTHY_PATH = "/well";
export const HANGING_PATH = "/hang";
const REPORT_MS = 10;

interface FromSink {
  readonly port?: number;
  readonly received?: number;
  readonly latencies?: readonly number[];
}

export async function startWebhookSink(): Promise<WebhookSink> {
  let received = 0;
  const started = Promise.withResolvers<number>();
  let requested = Promise.withResolvers<readonly number[]>();
  const child = Bun.spawn([process.execPath, import.meta.path], {
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
    ipc(message: FromSink) {
      received = message.received ?? received;
      if (message.port !== undefined) started.resolve(message.port);
      if (message.latencies !== undefined) requested.resolve(message.latencies);
    },
  });
  return {
    port: await started.promise,
    received: () => received,
    latencies() {
      requested = Promise.withResolvers();
      child.send("latencies");
      return requested.promise;
    },
    stop: () => child.kill(),
  };
}

function serve(): void {
  let received = 0;
  let latencies: number[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    tls: { cert: RECEIVER_CERTIFICATE, key: RECEIVER_KEY },
    idleTimeout: 0,
    async fetch(request) {
      const { timestamp } = (await request.json()) as { readonly timestamp: string };
      const { pathname } = new URL(request.url);
      if (pathname === HANGING_PATH) return new Promise<Response>(() => {});
      if (pathname === HEALTHY_PATH) {
        received += 1;
        latencies.push(Date.now() - Date.parse(timestamp));
      }
      return new Response("ok");
    },
  });
  process.send?.({ port: server.port });
  process.on("message", () => {
    process.send?.({ latencies });
    latencies = [];
  });
  let reportedCount = 0;
  setInterval(() => {
    if (reportedCount !== received) process.send?.({ received });
    reportedCount = received;
  }, REPORT_MS);
}

if (import.meta.main) serve();
