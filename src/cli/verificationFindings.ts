import { join } from "node:path";
import { projections } from "../../projections/index.ts";
import { sqliteReadDatabases } from "../adapters/sqlite/readDatabase.ts";
import type { Config } from "../config.ts";
import type { Verification } from "../readModels/catalog.ts";
import { lastVerifications } from "../readModels/list.ts";
import type { Finding } from "./finding.ts";

const NAME = "read models as the log says";

function wrongFinding({ name, finishedAt, rows, differences, failure }: Verification): Finding {
  const detail =
    failure === null
      ? `${differences} differences among ${rows} rows, found ${finishedAt}; \`projection verify ${name}\` shows them`
      : `not verified ${finishedAt}: ${failure}`;
  return { name: `read model ${name} as the log says`, ok: false, detail };
}

/** What the last comparison of the read models with the log has found, by a schedule or by command. */
export function verificationFindings({
  dataDir,
  verifyIntervalMs,
}: Pick<Config, "dataDir" | "verifyIntervalMs">): readonly Finding[] {
  const known = new Set(projections.map(({ name }) => name));
  const last = lastVerifications(sqliteReadDatabases, join(dataDir, "projections")).filter(({ name }) =>
    known.has(name),
  );
  const wrong = last.filter(({ differences, failure }) => differences > 0 || failure !== null);
  if (wrong.length > 0) return wrong.map(wrongFinding);
  const [oldest] = last.map(({ finishedAt }) => finishedAt).sort();
  if (oldest === undefined) {
    const how = verifyIntervalMs === 0 ? ", nor will be: PROJECTION_VERIFY_INTERVAL_HOURS is not set" : "";
    return [{ name: NAME, ok: true, detail: `not verified yet${how}` }];
  }
  const rows = last.reduce((sum, one) => sum + one.rows, 0);
  const detail = `${last.length} of ${known.size} verified, ${rows} rows, no difference, the first at ${oldest}`;
  return [{ name: NAME, ok: true, detail }];
}
