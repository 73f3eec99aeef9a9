import { projections } from "../../../../../projections/index.ts";
import { sqliteReadDatabases } from "../../../../adapters/sqlite/readModelDatabases.ts";
import { POSTLEDGER } from "../../../../kernel/text/cliInvocation.ts";
import { grouped } from "../../../../kernel/text/readableNumbers.ts";
import { unlessUnavailable } from "../../../../ports/readDatabase.ts";
import type { Verification } from "../../../../readModels/generations/generationCatalog.ts";
import { lastVerifications } from "../../../../readModels/listReadModels.ts";
import type { Config } from "../../../config/config.ts";
import { readModelDirectory } from "../../../config/storeConfig.ts";
import { type Check, failed, ok, warning } from "../check.ts";

const NAME = "verification of the read models";

function wrong({ name, finishedAt, rows, differences, failure }: Verification): Check {
  const check = `verification of the read model ${name}`;
  const again = `\`${POSTLEDGER} projection verify ${name}\``;
  if (failure !== null) return failed(check, `not verified ${finishedAt}: ${failure}`, again);
  const found = `${grouped(differences)} differences among ${grouped(rows)} rows, found ${finishedAt}`;
  return failed(
    check,
    found,
    `${again} shows them, \`${POSTLEDGER} projection rebuild ${name}\` repairs them`,
  );
}

/** What the last comparison of the read models with the log found, scheduled or by command. */
export function verificationChecks(config: Pick<Config, "dataDir" | "verifyIntervalMs">): readonly Check[] {
  const known = new Set<string>(projections.map(({ name }) => name));
  const found = unlessUnavailable(() => lastVerifications(sqliteReadDatabases, readModelDirectory(config)));
  if (found === null) return [warning(NAME, "the catalog of the read models is busy", "run it again")];
  const last = found.filter(({ name }) => known.has(name));
  const differing = last.filter(({ differences, failure }) => differences > 0 || failure !== null);
  if (differing.length > 0) return differing.map(wrong);
  const [oldest] = last.map(({ finishedAt }) => finishedAt).sort();
  if (oldest === undefined) {
    const how =
      config.verifyIntervalMs === 0
        ? "; nothing does it regularly, as PROJECTION_VERIFY_INTERVAL_HOURS is not set"
        : "";
    return [ok(NAME, `nothing to report: none has run yet${how}`)];
  }
  const rows = last.reduce((sum, one) => sum + one.rows, 0);
  const count = `${last.length} of ${known.size} verified`;
  return [ok(NAME, `${count}, ${grouped(rows)} rows, no difference, the oldest at ${oldest}`)];
}
