import { isIPv4 } from "node:net";
import { WEBHOOK_POLICY } from "../../domain/webhookDelivery/retrySchedule.ts";
import { wholeNumber } from "../../kernel/text/wholeNumber.ts";
import { type EnvironmentReader, PORTS } from "./environmentReader.ts";

const SCHEDULE_WAITS_MAX = 100;
const SCHEDULE_WAIT_MS_MAX = 999_999_999;

/** How webhook endpoints are called. */
export type WebhookConfig = Readonly<ReturnType<typeof readWebhookConfig>>;

export function readWebhookConfig(reader: EnvironmentReader) {
  const hosts = reader.list("WEBHOOK_ALLOW_PRIVATE_HOSTS");
  const must = "host:port pairs, separated by commas: names in lower case, or 127.0.0.1";
  reader.requireEach("WEBHOOK_ALLOW_PRIVATE_HOSTS", hosts, isNamedPair, must);
  const callTimeoutMs = reader.integer("WEBHOOK_CALL_TIMEOUT_MS", 15_000, { min: 100, max: 60_000 });
  return {
    /** `host:port` pairs that may be private: for development only. */
    allowedPrivateHosts: new Set(hosts),
    /** PEM of additional certificate authorities; null: only the system's. */
    certificateAuthorities: reader.file("WEBHOOK_CA_FILE"),
    /** For one whole call, DNS look-up and answer included. */
    callTimeoutMs,
    /** Concurrent calls to one endpoint, by each instance. */
    callsPerEndpointMax: reader.integer("WEBHOOK_CALLS_PER_ENDPOINT_MAX", 5, { min: 1, max: 50 }),
    policy: {
      ...WEBHOOK_POLICY,
      // Twice the call's limit: the rest is for recording the outcome.
      leaseMs: 2 * callTimeoutMs,
      scheduleMs: webhookSchedule(reader),
    },
  };
}

/**
 * `host:port` with a name: certificates are checked for names, and an address would pass without a look-up. The
 * exception is this machine's own address, for receivers in development without a certificate.
 */
function isNamedPair(text: string): boolean {
  const [, host = "", port = ""] = /^([a-z0-9_][a-z0-9._-]*):([1-9]\d{0,4})$/.exec(text) ?? [];
  // The URL parser recognizes every notation of an address, even 0x7f.1.
  const isName = URL.canParse(`https://${host}`) && !isIPv4(new URL(`https://${host}`).hostname);
  return host !== "" && (isName || host === "127.0.0.1") && wholeNumber(port, PORTS) !== null;
}

function webhookSchedule(reader: EnvironmentReader): readonly number[] {
  const texts = reader.list("WEBHOOK_SCHEDULE_MS");
  if (texts.length === 0) return WEBHOOK_POLICY.scheduleMs;
  const waitOf = (text: string) => wholeNumber(text, { max: SCHEDULE_WAIT_MS_MAX });
  const must = `1 to ${SCHEDULE_WAITS_MAX} waits in milliseconds, separated by commas`;
  if (texts.length > SCHEDULE_WAITS_MAX)
    reader.errors.push(`WEBHOOK_SCHEDULE_MS must be ${must}; there are ${texts.length}`);
  else reader.requireEach("WEBHOOK_SCHEDULE_MS", texts, (text) => waitOf(text) !== null, must);
  return texts.map(waitOf).filter((wait) => wait !== null);
}
