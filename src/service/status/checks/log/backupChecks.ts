import type { InstanceState } from "../../../../domain/instance/state.ts";
import { POSTLEDGER } from "../../../../kernel/text/cliInvocation.ts";
import { DAY_MS } from "../../../../kernel/time.ts";
import { isEmbedded } from "../../../adapters/openStore.ts";
import type { Config } from "../../../config/config.ts";
import { ageText } from "../../ageText.ts";
import { type Check, ok, warning } from "../check.ts";

/** From this age of the last backup on, `doctor` warns. */
const BACKUP_AGE_MS_MAX = 7 * DAY_MS;

/**
 * When the last backup of an embedded log was begun, as the log itself records it. None on EventStoreDB, whose server
 * makes its own, or for a log that was frozen because it goes on elsewhere.
 */
export function backupChecks(config: Pick<Config, "storeUrl">, instance: InstanceState): readonly Check[] {
  if (instance === null || instance.frozenAt !== null || !isEmbedded(config)) return [];
  const last = instance.copies.findLast(({ kind }) => kind === "backup");
  const remedy = `\`${POSTLEDGER} backup create --out <dir>\` makes one, also while the service runs; \`${POSTLEDGER} backup follow --out <dir>\` keeps one current`;
  if (last === undefined) return [warning("backup", "there has never been one", remedy)];
  const ageMs = Date.now() - last.at;
  const detail = `the last one was begun ${ageText(Math.max(0, ageMs))} ago`;
  return [ageMs < BACKUP_AGE_MS_MAX ? ok("backup", detail) : warning("backup", detail, remedy)];
}
