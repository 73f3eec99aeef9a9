import type { MetricsConfig } from "../config/metricsConfig.ts";
import { listenError } from "../startupErrors.ts";
import { PROMETHEUS_TYPE } from "./prometheusText.ts";

/** Where figures are read, once they are answered. */
export interface MetricsPort {
  readonly url: URL;
  /** From now on `text` answers. Until then whoever asks is told to come again. */
  answer(text: () => Promise<string>): void;
  stop(): Promise<void>;
}

/** Takes the port of METRICS_PORT: one of its own, so that no proxy in front of the API leads there. Throws why it cannot be had. */
export function openMetricsPort(place: MetricsConfig): MetricsPort {
  let answering: (() => Promise<string>) | null = null;
  const serve = async ({ method, url }: Request) => {
    if (new URL(url).pathname !== "/metrics") return new Response("see /metrics\n", { status: 404 });
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
