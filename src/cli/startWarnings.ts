import type { RunningApp } from "../app.ts";
import { type Config, isLoopback } from "../config.ts";
import { bootstrapKeyPath } from "../firstRun.ts";

/** What works and should not stay so, a sentence each for the operator. */
export function startWarnings(
  config: Pick<Config, "host" | "baseUrl" | "trustedProxies" | "dataDir">,
  { hasBootstrapKey, isWithoutWorkspace }: Pick<RunningApp, "hasBootstrapKey" | "isWithoutWorkspace">,
): readonly string[] {
  return [
    ...(isOpenWithoutTls(config)
      ? [
          `HOST ${config.host} is open to the network, and neither an https BASE_URL nor TRUSTED_PROXIES tells of a proxy with TLS: keys and mail can be read on the way. Put a proxy with TLS before it`,
        ]
      : []),
    ...(isWithoutWorkspace
      ? [
          "the log has no workspace, so nobody can use it: `postledger workspace create`, then `sender add`, `sender verify` and `api-key create`, or BOOTSTRAP=on",
        ]
      : []),
    ...(hasBootstrapKey
      ? [
          `${bootstrapKeyPath(config.dataDir)} holds a key that may do everything and does not expire: make keys of your own with \`postledger api-key create\`, revoke it with \`postledger api-key revoke\`, and delete the file`,
        ]
      : []),
  ];
}

function isOpenWithoutTls({
  host,
  baseUrl,
  trustedProxies,
}: Pick<Config, "host" | "baseUrl" | "trustedProxies">) {
  // Whoever says that callers come by loopback has the port open to this machine alone, as a container does.
  const isLocal = isLoopback(host) || isLoopback(baseUrl.hostname.replace(/[[\]]/g, ""));
  return !isLocal && baseUrl.protocol !== "https:" && trustedProxies.length === 0;
}
