import { diskSpaceOf } from "../../../adapters/system/diskSpace.ts";
import type { ContentStore } from "../../../ports/contentStore.ts";
import type { Config } from "../../config/config.ts";
import { certificateChecks } from "./certificateChecks.ts";
import type { Check } from "./check.ts";
import { contentCheck, diskCheck, relayChecks, scannerChecks, webhookChecks } from "./dependencyChecks.ts";
import { verificationChecks } from "./log/readModelVerificationChecks.ts";
import { loginProxyChecks } from "./loginProxyChecks.ts";

/** Findings about the log, and others that need the log open. */
export interface LogFindings {
  readonly log: readonly Check[];
  readonly readModels: readonly Check[];
  readonly firstKey: readonly Check[];
  /** Of the content store, if it was asked for first and is away. */
  readonly content?: Check;
}

/** The checks that depend on who looks: a running service, or a command that opens the log itself. */
interface CheckSource {
  readonly config: Config;
  readonly content: ContentStore;
  /** Whether a service runs, and how. */
  readonly service: readonly Check[];
  log(): Promise<LogFindings>;
  workers(): Promise<readonly Check[]>;
}

/** All checks, in the order in which they are shown. Throws what `log` throws. */
export async function allChecks({
  config,
  content: contentStore,
  service,
  log,
  workers,
}: CheckSource): Promise<readonly Check[]> {
  const found = await log();
  const [content, scanner, relays, workersFound] = await Promise.all([
    found.content ?? contentCheck(config, contentStore),
    scannerChecks(config),
    relayChecks(config),
    workers(),
  ]);
  return [
    ...service,
    // First, because a full disk is why others fail.
    diskCheck(diskSpaceOf(config.dataDir).freeBytes(), config),
    ...found.log,
    ...found.readModels,
    ...verificationChecks(config),
    content,
    ...scanner,
    ...relays,
    ...certificateChecks(config),
    ...workersFound,
    ...webhookChecks(config),
    ...loginProxyChecks(config),
    ...found.firstKey,
  ];
}
