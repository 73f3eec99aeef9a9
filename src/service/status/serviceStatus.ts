import { version } from "../../../package.json";
import { projections } from "../../../projections/index.ts";
import { countReady } from "../../../projections/mailQueue.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { invariant } from "../../kernel/assert.ts";
import { counted } from "../../kernel/text/text.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import type { MailDelivery } from "../../reactors/email/mailDelivery.ts";
import { behindSince } from "../../readModels/lag.ts";
import type { Readers } from "../../readModels/readers.ts";
import type { Config } from "../config/config.ts";
import { isEmbedded, relayPlace } from "../openAdapters.ts";
import { refusalRemedy, relayRemedy } from "../relayLogLines.ts";
import {
  type Check,
  contentCheck,
  diskCheck,
  failed,
  firstKeyChecks,
  formatCheck,
  lastSealCheck,
  ok,
  readModelLag,
  relayCheck,
  scannerChecks,
  standingChecks,
  stoppedReadModel,
  warning,
  webhookChecks,
  workspaceChecks,
} from "./healthChecks.ts";
import { verificationChecks } from "./verificationChecks.ts";

/** How long the store may take before it counts as not answering. */
const STORE_MS_MAX = 5_000;
/** Messages that are counted; more are told as this many. */
const WAITING_MAX = 10_000;

interface StatusOptions {
  readonly config: Config;
  readonly deps: Dependencies;
  readonly readers: Readers;
  readonly delivery: MailDelivery;
  readonly logId: string;
  readonly url: URL;
  inFlight(): { readonly requests: number; readonly deliveries: number };
}

/** What a running service says of itself and of what it depends on, as it finds it from where it runs. */
export function serviceStatus(options: StatusOptions): () => Promise<readonly Check[]> {
  const startedAt = Date.now();
  return async () => {
    const { config } = options;
    const [ofTheLog, readModels, content, scanner, relay] = await Promise.all([
      logChecks(options),
      readModelChecks(options),
      contentCheck(config),
      scannerChecks(config),
      relayCheck(config),
    ]);
    return [
      serviceCheck(options, startedAt),
      configurationCheck(config),
      ...ofTheLog,
      ...readModels,
      ...verificationChecks(config),
      content,
      diskCheck(options.deps.disk.freeBytes(), config),
      ...scanner,
      relay,
      workersCheck(options),
      ...webhookChecks(config),
      ...firstKeyChecks(config),
    ];
  };
}

function serviceCheck({ url, inFlight }: StatusOptions, startedAt: number): Check {
  const forSeconds = Math.round((Date.now() - startedAt) / SECOND_MS);
  const { requests } = inFlight();
  return ok(
    "service",
    `running at ${url.origin} for ${forSeconds} s (version ${version}, process ${process.pid}), ${counted(requests, "request", "requests")} under way; what follows is as it finds it`,
  );
}

function configurationCheck(config: Config): Check {
  const store = isEmbedded(config) ? "embedded store" : "EventStoreDB";
  const delivery = config.deliveryEnabled ? "delivery on" : "delivery off";
  return ok(
    "configuration",
    `${store}, mail to ${relayPlace(config)}, ${delivery}, BASE_URL ${config.baseUrl.href}`,
  );
}

/** A store that does not answer is all that there is to say of the log. */
async function logChecks({ config, deps, logId }: StatusOptions): Promise<readonly Check[]> {
  const { store, standing } = deps;
  const began = performance.now();
  try {
    await store.head({ timeoutMs: STORE_MS_MAX });
    const tookMs = Math.round(performance.now() - began);
    const { instance } = await standing.get();
    const where = config.storeUrl.split(":", 1)[0];
    return [
      ok("log", `${logId} on ${where}, answering in ${tookMs} ms`),
      formatCheck(instance?.format ?? 1),
      ok("master key", "opens the log"),
      ...standingChecks(instance),
      ...(await workspaceChecks(store)),
      await lastSealCheck(store),
    ];
  } catch (error) {
    return [failed("log", (error as Error).message, "start the store, or check STORE_URL of the service")];
  }
}

async function readModelChecks({ readers, deps }: StatusOptions): Promise<readonly Check[]> {
  const checks = readers.status().map(async ({ name, state, position, isCaughtUp, failure }) => {
    if (failure !== null) return stoppedReadModel(name, failure);
    if (isCaughtUp) return readModelLag(name, null, true);
    const projection = projections.find((one) => one.name === name);
    invariant(projection, "what is read is one of ours");
    if (state !== "absent")
      return readModelLag(name, await behindSince(deps.store, projection, position), true);
    return warning(`read model ${name}`, "not built yet", "wait: it follows by itself");
  });
  return Promise.all(checks);
}

function workersCheck({ config, readers, deps, delivery, inFlight }: StatusOptions): Check {
  const name = "delivery workers";
  if (!config.deliveryEnabled) {
    return warning(name, "off: mail is accepted and not delivered here", "set DELIVERY=on where it is to be");
  }
  const mailQueue = readers.reader("mail-queue");
  const waiting = countReady(mailQueue, deps.clock.now(), WAITING_MAX);
  const detail = `${counted(inFlight().deliveries, "delivery", "deliveries")} under way, ${counted(waiting, "message", "messages")} due`;
  const fault = delivery.relayFault;
  const refusal = delivery.recentRefusal;
  if (fault === null && refusal !== null) {
    const told = `${detail}; the relay refused mail for good: ${refusal.reason}, ${refusal.code}`;
    return warning(name, told, refusalRemedy(refusal));
  }
  if (fault === null) return ok(name, detail);
  // A relay that greets us may still take no message, so what to do is said here as well.
  const action = `${relayRemedy(fault.trouble)}; mail waits and is tried again`;
  return warning(name, `${detail}; the relay took no mail: ${fault.reason}`, action);
}
