import { BODY_BYTES_IN_FLIGHT_MIN } from "../../http/body/bodyLimits.ts";
import { hostInUrl } from "../../kernel/network/isLoopback.ts";
import { MINUTE_MS } from "../../kernel/time.ts";
import { addressRanges } from "./addressRanges.ts";
import type { EnvironmentReader } from "./environmentReader.ts";

const BODY_BYTES_IN_FLIGHT_DEFAULT = 64 * 1_024 * 1_024;

/** How the service is reached over HTTP, and what it accepts from whom. */
export type ServerConfig = Readonly<ReturnType<typeof readServerConfig>>;

export function readServerConfig(reader: EnvironmentReader) {
  const host = reader.host("HOST", "127.0.0.1");
  const port = reader.integer("PORT", 3000, { min: 0, max: 65_535 });
  return {
    host,
    port,
    /** Where callers reach the service; its path prefixes routes and links. */
    baseUrl: reader.url("BASE_URL", `http://${hostInUrl(host)}:${port}`),
    /** Bytes of request bodies in flight at once. */
    bodyBytesInFlightMax: reader.integer("BODY_BYTES_IN_FLIGHT_MAX", BODY_BYTES_IN_FLIGHT_DEFAULT, {
      min: BODY_BYTES_IN_FLIGHT_MIN,
      max: 2 ** 40,
    }),
    /** Failed authentications allowed per client address and minute; 0: no limit. */
    authFailuresPerMinute: reader.integer("AUTH_FAILURES_PER_MINUTE", 60, { min: 0, max: 1_000_000 }),
    /** Proxies whose X-Forwarded-For we trust. */
    trustedProxies: addressRanges(reader, "TRUSTED_PROXIES"),
    requestTimeoutMs: reader.integer("REQUEST_TIMEOUT_MS", 15_000, { min: 100, max: 10 * MINUTE_MS }),
    drainTimeoutMs: reader.integer("DRAIN_TIMEOUT_MS", 25_000, { min: 0, max: 10 * MINUTE_MS }),
  };
}
