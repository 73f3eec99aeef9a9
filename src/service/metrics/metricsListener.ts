import { pathOf } from "../../http/server/requestTarget.ts";
import type { MetricsConfig } from "../config/metricsConfig.ts";
import { listenError } from "../faults/startupErrors.ts";
import { PROMETHEUS_TYPE } from "./prometheusText.ts";

/** The port that serves metrics, once it answers. */
export interface MetricsListener {
  readonly url: URL;
  /** Answers with `text` from now on. Until then callers are told to retry. */
  answer(text: () => Promise<string>): void;
  stop(): Promise<void>;
}

/** Opens METRICS_PORT, a port of its own that no proxy in front of the API leads to. Throws why it cannot be opened. */
export function openMetricsListener(place: MetricsConfig): MetricsListener {
  let answering: (() => Promise<string>) | null = null;
  const serve = async (request: Request) => {
    const { method } = request;
    if (pathOf(request) !== "/metrics") return new Response("see /metrics\n", { status: 404 });
    if (method !== "GET" && method !== "HEAD")
      return new Response(null, { status: 405, headers: { allow: "GET, HEAD" } });
    if (answering === null)
      return new Response("starting\n", { status: 503, headers: { "retry-after": "1" } });
    return new Response(await answering(), { headers: { "content-type": PROMETHEUS_TYPE } });
  };
  const server = listening(place, serve);
  return {
    url: server.url,
    answer(text) {
      answering = text;
    },
    stop: () => server.stop(true),
  };
}

function listening({ host, port }: MetricsConfig, fetch: (request: Request) => Promise<Response>) {
  try {
    const error = () => new Response(null, { status: 500 });
    return Bun.serve({ hostname: host, port, development: false, reusePort: false, fetch, error });
  } catch (error) {
    throw listenError("METRICS_", { host, port }, error);
  }
}
