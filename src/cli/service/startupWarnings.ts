import { isLoopback, isLoopbackUrl } from "../../kernel/network/isLoopback.ts";
import { isOutbox, mailDestination } from "../../service/adapters/openMailTransport.ts";
import {
  bootstrapKeyDetail,
  bootstrapKeyPath,
  bootstrapKeyRemedy,
  WORKSPACE_REMEDY,
} from "../../service/bootstrapWorkspace.ts";
import type { Config } from "../../service/config/config.ts";
import type { RunningApp } from "../../service/runApp.ts";
import { OUTBOX_REMEDY, outboxDetail } from "../../service/status/checks/dependencyChecks.ts";
import { DESCRIPTORS_REMEDY, lowDescriptorLimit } from "../../service/status/checks/descriptorCheck.ts";

interface Started extends Pick<RunningApp, "bootstrapKey" | "isWithoutWorkspace" | "held"> {
  /** Whether the banner was shown, which already tells about what is left from a first run. */
  readonly isGreeted: boolean;
  /** How many files and connections may be open at once; null if nobody knows. */
  readonly descriptorLimit: number | null;
}

/** What works but should be changed: a sentence each for the log. */
export function startupWarnings(
  config: Pick<
    Config,
    | "host"
    | "baseUrl"
    | "trustedProxies"
    | "dataDir"
    | "verificationFrom"
    | "masterKeyPrevious"
    | "isOutboxByDefault"
    | "isTrial"
    | "mailRoute"
    | "misspelt"
  >,
  { bootstrapKey, isWithoutWorkspace, held, isGreeted, descriptorLimit }: Started,
): readonly string[] {
  const warnings: string[] = [...config.misspelt, ...(isGreeted ? [] : outboxWarnings(config))];
  if (isOpenWithoutTls(config)) {
    warnings.push(
      `HOST ${config.host} is open to the network, and neither an https BASE_URL nor TRUSTED_PROXIES names a proxy with TLS: keys and mail can be read in transit. Put a proxy with TLS in front`,
    );
  }
  const fewDescriptors = lowDescriptorLimit(descriptorLimit);
  if (fewDescriptors !== null) warnings.push(`${fewDescriptors}. To do: ${DESCRIPTORS_REMEDY}`);
  if (held !== null) warnings.push(held);
  if (config.masterKeyPrevious !== null) {
    warnings.push(
      "the log opens with MASTER_KEY alone: MASTER_KEY_PREVIOUS is now needed only for older backups",
    );
  }
  if (config.verificationFrom !== null && isUnspecified(config.baseUrl)) {
    warnings.push(
      `the verification links that are mailed lead to ${config.baseUrl.origin}, which other machines cannot open: set BASE_URL to where callers reach the service`,
    );
  }
  if (isWithoutWorkspace && !isGreeted) {
    warnings.push(`the log has no workspace, so nobody can use it: ${WORKSPACE_REMEDY}`);
  }
  if (bootstrapKey !== null && !isGreeted) {
    warnings.push(
      `${bootstrapKeyDetail(bootstrapKeyPath(config.dataDir))}: ${bootstrapKeyRemedy(bootstrapKey)}`,
    );
  }
  return warnings;
}

/** Mail that goes into files: said in a trial if nobody has asked for that, and else whenever it is so. */
function outboxWarnings(
  config: Pick<Config, "isOutboxByDefault" | "isTrial" | "mailRoute" | "dataDir">,
): readonly string[] {
  if (!isOutbox(config)) return [];
  const place = mailDestination(config);
  if (config.isOutboxByDefault)
    return [`SMTP_URL is not set: mail is written to ${place} and goes nowhere else`];
  return config.isTrial ? [] : [`${outboxDetail(place)}. To do: ${OUTBOX_REMEDY}`];
}

/** Whether a URL names all addresses of a machine, as HOST may, and so none that others could open. */
function isUnspecified({ hostname }: URL): boolean {
  return hostname === "0.0.0.0" || hostname === "[::]";
}

function isOpenWithoutTls({
  host,
  baseUrl,
  trustedProxies,
}: Pick<Config, "host" | "baseUrl" | "trustedProxies">) {
  // A loopback BASE_URL means that only this machine reaches the port, as with a container.
  const isLocal = isLoopback(host) || isLoopbackUrl(baseUrl);
  return !isLocal && baseUrl.protocol !== "https:" && trustedProxies.length === 0;
}
