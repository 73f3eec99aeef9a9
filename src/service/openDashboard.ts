import { version } from "../../package.json";
import { buildMime } from "../adapters/nodemailer/mimeMessage.ts";
import type { Dependencies } from "../commands/dependencies.ts";
import { findMailRecords } from "../commands/sender/mailDnsRecords.ts";
import { createDashboard, type Dashboard } from "../http/dashboard/frame/createDashboard.tsx";
import type { DashboardOptions } from "../http/dashboard/frame/dashboardOptions.ts";
import { dkimKeysFor } from "../kernel/crypto/dkimKeys.ts";
import { SECOND_MS } from "../kernel/time.ts";
import type { DnsResolver } from "../ports/dnsResolver.ts";
import type { MailDeliveryWorker } from "../reactors/email/mailDeliveryWorker.ts";
import type { FreezeWatch } from "../reactors/instance/freezeWatch.ts";
import type { Readers } from "../readModels/readModelReaders.ts";
import { isOutbox } from "./adapters/openMailTransport.ts";
import { BOOTSTRAP_KEY_FILE, readBootstrapKey } from "./bootstrapWorkspace.ts";
import type { Config } from "./config/config.ts";
import { bootstrapKeyCheck } from "./status/checks/bootstrapKeyChecks.ts";
import { lastSealCheck } from "./status/checks/log/logChecks.ts";
import { verificationChecks } from "./status/checks/log/readModelVerificationChecks.ts";
import { readModelStates } from "./status/readModelStates.ts";

/** How long to reuse what the overview looks up, which reads files and the log. */
const UPKEEP_MS = 30 * SECOND_MS;

interface Served
  extends Pick<
      DashboardOptions,
      "deps" | "maintenance" | "relays" | "basePath" | "readiness" | "readModelBuild"
    >,
    Pick<DashboardOptions, "destinationRules" | "readModel" | "senderVerification"> {
  readonly readers: Readers;
  readonly delivery: MailDeliveryWorker;
  readonly freezeWatch: FreezeWatch;
  readonly dns: DnsResolver;
}

export function openDashboard(
  config: Config,
  { delivery, freezeWatch, readers, dns, ...served }: Served,
): Promise<Dashboard> {
  return createDashboard({
    ...served,
    readModel: withoutWaiting(served),
    url: config.baseUrl,
    version,
    isFrozen: () => freezeWatch.isFrozen(),
    isOutbox: isOutbox(config),
    loginProxy: config.loginProxy,
    sendingRates: config.sendingRates,
    readWaitingReason: delivery.readWaitingReason(config.deliveryEnabled),
    buildMime: (message) => new Uint8Array(buildMime(message)),
    upkeep: upkeepOf(config, served.deps),
    trialKeyFile: () => trialKeyFile(config, served.deps),
    readModelStates: readModelStates(config, served.deps, readers),
    mailRecords: (domain) =>
      findMailRecords(dns, {
        domain,
        envelopeDomain: config.returnPathDomain ?? domain,
        keys: dkimKeysFor(config.dkimKeys, domain),
        selectors: [],
      }),
  });
}

/** Pages say at once that a list is still being built, instead of after seconds. */
function withoutWaiting({
  readModel,
  readModelBuild,
}: Pick<Served, "readModel" | "readModelBuild">): DashboardOptions["readModel"] {
  return (name) => {
    const model = readModel(name);
    const whenCaughtUp = async (timeoutMs: number) =>
      (await readModelBuild()) === null && model.whenCaughtUp(timeoutMs);
    return { ...model, whenCaughtUp };
  };
}

/** The name of the file with the first key of a trial, without its directory: everybody sees it. */
async function trialKeyFile({ isTrial, dataDir }: Config, { store }: Dependencies): Promise<string | null> {
  // Whoever logs in may want to see why the store does not answer.
  const key = isTrial ? await readBootstrapKey(store, dataDir).catch(() => null) : null;
  return key === null || key.id === null || key.isRevoked ? null : BOOTSTRAP_KEY_FILE;
}

/** The first key is the operator's business, and its own workspace's. */
function upkeepOf(config: Config, deps: Dependencies): DashboardOptions["upkeep"] {
  const look = upkeepLookUp(config, deps);
  return async (workspaceId, isOperator) => {
    const { checks, key } = await look();
    if (key === null || !(isOperator || key.workspaceId === workspaceId)) return checks;
    return [...checks, bootstrapKeyCheck(key, BOOTSTRAP_KEY_FILE)];
  };
}

/** Shares one look-up between all who ask at the same time. */
function upkeepLookUp(config: Config, { store, clock }: Dependencies) {
  const lookUp = async () => {
    const asked = [lastSealCheck(store, config), readBootstrapKey(store, config.dataDir)] as const;
    const [seal, key] = await Promise.all(asked);
    return { checks: [seal, ...verificationChecks(config)], key };
  };
  let known: ReturnType<typeof lookUp> | null = null;
  let until = 0;
  return () => {
    if (known !== null && clock.monotonicMs() < until) return known;
    until = clock.monotonicMs() + UPKEEP_MS;
    const looked = lookUp();
    looked.catch(() => {
      until = 0;
    });
    known = looked;
    return looked;
  };
}
