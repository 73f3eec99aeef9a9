import { parseArgs } from "node:util";
import { progressBar } from "../../src/cli/progressBar.ts";
import { type CrashReport, runCrash } from "./crashRun.ts";
import { WINDOWS } from "./killWindows.ts";
import { isPlant, PLANTS, type PlantName } from "./plants.ts";
import type { StoreName } from "./serviceUnderTest.ts";

const KILLS = 36;
const KILLS_MAX = 10_000;
/** These come on top. */
const START_KILLS = 2;
const SIGTERMS = 3;
const TERMINAL_MS_MAX = 60_000;
/** A planted fault is to be found soon. */
const TERMINAL_MS_MAX_PLANTED = 8_000;
/** Problems of one kind that are printed; all are counted. */
const EXAMPLES_MAX = 2;

const USAGE = `usage: bun run crash [--kills N] [--store sqlite|eventstoredb] [--plant FAULT] [--json]

Kills the service with SIGKILL at random points under load, with an SMTP sink that survives, and compares
what callers were promised, what the log says and what the sink has.

  --kills N     how many, 1 to ${KILLS_MAX}; ${KILLS} unless given
  --store NAME  sqlite unless given; eventstoredb takes \`eventstored\` on the PATH
  --plant FAULT puts a fault into a copy of the program: the run must fail. ${Object.keys(PLANTS).join(", ")};
                the first is one of sqlite only
  --json        the result as one JSON value
`;

interface Call {
  readonly kills: number;
  readonly store: StoreName;
  readonly plant: PlantName | null;
  readonly json: boolean;
}

/** The call's words; null when they are off. */
function readCall(words: readonly string[]): Call | null {
  const options = {
    kills: { type: "string", default: String(KILLS) },
    store: { type: "string", default: "sqlite" },
    plant: { type: "string" },
    json: { type: "boolean", default: false },
  } as const;
  try {
    const { kills, store, plant, json } = parseArgs({ args: [...words], options, strict: true }).values;
    const count = Number(kills);
    if (!Number.isInteger(count) || count < 1 || count > KILLS_MAX) return null;
    if (store !== "sqlite" && store !== "eventstoredb") return null;
    if (plant !== undefined && !isPlant(plant)) return null;
    if (plant === "synchronous-off" && store !== "sqlite") return null;
    return { kills: count, store, plant: plant ?? null, json };
  } catch {
    return null;
  }
}

/** Problems by kind, the kinds told apart by their wording without ids and numbers. */
function problemLines(problems: readonly string[]): readonly string[] {
  const kinds = Map.groupBy(problems, (problem) => problem.replace(/[0-9a-f-]{36}|\d+/g, "#"));
  return [...kinds.values()].flatMap((examples) => [
    ...examples.slice(0, EXAMPLES_MAX).map((problem) => `PROBLEM: ${problem}`),
    ...(examples.length > EXAMPLES_MAX ? [`  and ${examples.length - EXAMPLES_MAX} more like it`] : []),
  ]);
}

/** The report for people; what matters most stands last. */
function lines(report: CrashReport): readonly string[] {
  const { problems, kills, accepted, lost, duplicated, ambiguous, cutOff, cutOffAccepted } = report;
  return [
    `store: ${report.store}`,
    `disk: ${report.syncWatch}`,
    ...WINDOWS.map((window) => `kills in ${window}: ${report.killsIn[window]}`),
    `kills in a start after another kill: ${report.killsInStart}`,
    `stops by SIGTERM under load: ${report.sigterms}`,
    `requests without a 202 that were sent again: ${cutOff}, of which ${cutOffAccepted} had been accepted`,
    ...problemLines(problems),
    `kills ${kills}, accepted ${accepted}, lost ${lost}, duplicated ${duplicated}, declared ambiguous ${ambiguous}`,
  ];
}

async function main(words: readonly string[]): Promise<number> {
  const call = readCall(words);
  if (call === null) {
    process.stderr.write(USAGE);
    return 2;
  }
  const { kills, store, plant, json } = call;
  const bar = progressBar("crash");
  const report = await runCrash({
    store,
    kills,
    startKills: START_KILLS,
    sigterms: SIGTERMS,
    terminalMsMax: plant === null ? TERMINAL_MS_MAX : TERMINAL_MS_MAX_PLANTED,
    ...(plant === null ? {} : { plant }),
    onProgress: bar.show,
  });
  bar.end();
  process.stdout.write(json ? `${JSON.stringify(report)}\n` : `${lines(report).join("\n")}\n`);
  return report.problems.length > 0 ? 1 : 0;
}

// Leaving in order takes the service along.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
process.exit(await main(process.argv.slice(2)));
