import { parseArgs } from "node:util";
import { progressBar } from "../../../src/cli/output/progressBar.ts";
import { type CrashReport, runCrash } from "./crashRun.ts";
import { WINDOWS } from "./killWindows.ts";
import {
  isPlant,
  isWebhookPlant,
  PLANTS,
  type PlantName,
  UNFLUSHED,
  WEBHOOK_PLANTS,
  type WebhookPlantName,
} from "./plants.ts";
import { STORE_NAMES, type StoreName } from "./serviceUnderTest.ts";
import { runWebhookCrash, type WebhookCrashReport } from "./webhookCrashRun.ts";

const KILLS = 36;
const KILLS_MAX = 10_000;
/** These come on top. */
const START_KILLS = 2;
const SIGTERMS = 3;
const TERMINAL_MS_MAX = 60_000;
/** A planted fault must be found soon. */
const TERMINAL_MS_MAX_PLANTED = 8_000;
/** Problems of one kind that are printed; all are counted. */
const EXAMPLES_MAX = 2;

const USAGE = `usage: bun run crash [webhooks] [--kills N] [--store ${STORE_NAMES.join("|")}] [--plant FAULT] [--json]

Kills the service with SIGKILL at random points under load, with an SMTP sink that survives, and compares
what callers were promised, what the log says and what the sink has. With \`webhooks\`: with HTTPS receivers
that answer, fail, hang, redirect, drip and pour, and endpoints that change meanwhile; it compares what the
endpoints were owed, what the log says and what the receivers have seen.

  --kills N     how many, 1 to ${KILLS_MAX}; ${KILLS} unless given
  --store NAME  sqlite unless given; the others take \`eventstored\` on the PATH, eventstoredb-tls with TLS and a user
  --plant FAULT puts a fault into a copy of the program: the run must fail. ${Object.keys(PLANTS).join(", ")};
                the first two are of sqlite only. For webhooks: ${Object.keys(WEBHOOK_PLANTS).join(", ")}
  --json        the result as one JSON value
`;

interface Call {
  readonly kills: number;
  readonly store: StoreName;
  readonly json: boolean;
  readonly subject:
    | { readonly name: "mail"; readonly plant: PlantName | null }
    | { readonly name: "webhooks"; readonly plant: WebhookPlantName | null };
}

function isOfSqlite(plant: PlantName): boolean {
  return Object.values(UNFLUSHED).includes(plant);
}

/** What is under test, with which fault; null when the arguments are invalid. */
function readSubject(
  words: readonly string[],
  plant: string | null,
  store: StoreName,
): Call["subject"] | null {
  if (words.length === 0) {
    const isOff = plant !== null && (!isPlant(plant) || (isOfSqlite(plant) && store !== "sqlite"));
    return isOff ? null : { name: "mail", plant };
  }
  if (words.join() !== "webhooks" || (plant !== null && !isWebhookPlant(plant))) return null;
  return { name: "webhooks", plant };
}

/** The command line's arguments; null when they are invalid. */
function readCall(words: readonly string[]): Call | null {
  const options = {
    kills: { type: "string", default: String(KILLS) },
    store: { type: "string", default: "sqlite" },
    plant: { type: "string" },
    json: { type: "boolean", default: false },
  } as const;
  try {
    const { values, positionals } = parseArgs({
      args: [...words],
      options,
      strict: true,
      allowPositionals: true,
    });
    const { json } = values;
    const store = STORE_NAMES.find((name) => name === values.store);
    const kills = Number(values.kills);
    if (!Number.isInteger(kills) || kills < 1 || kills > KILLS_MAX) return null;
    if (store === undefined) return null;
    const subject = readSubject(positionals, values.plant ?? null, store);
    return subject && { kills, store, json, subject };
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

/** As {@link lines}, of webhooks. */
function webhookLines(report: WebhookCrashReport): readonly string[] {
  const { problems, kills, killsUnderCalls, changes, calls, attempts } = report;
  const { events, deliveries, missing, unexplained, stuck, skipped, exhausted, leasesExpired } = report;
  const changed = Object.entries(changes).map(([name, times]) => `${name} ${times}`);
  return [
    `store: ${report.store}`,
    `kills with calls under way: ${killsUnderCalls}`,
    `changes of endpoints: ${changed.join(", ")}`,
    `attempts ${attempts}, calls ${calls}, leases that ran out ${leasesExpired}`,
    `deliveries skipped ${skipped}, exhausted ${exhausted}`,
    ...problemLines(problems),
    `kills ${kills}, events ${events}, deliveries ${deliveries}, missing ${missing}, unexplained calls ${unexplained}, stuck ${stuck}`,
  ];
}

async function run({ kills, store, subject }: Call) {
  const bar = progressBar("crash");
  const endMsMax = subject.plant === null ? TERMINAL_MS_MAX : TERMINAL_MS_MAX_PLANTED;
  const common = { store, kills, onProgress: bar.show };
  try {
    if (subject.name === "webhooks") {
      const plant = subject.plant === null ? {} : { plant: subject.plant };
      const report = await runWebhookCrash({ ...common, endMsMax, ...plant });
      return { report, lines: webhookLines(report) };
    }
    const plant = subject.plant === null ? {} : { plant: subject.plant };
    const options = { startKills: START_KILLS, sigterms: SIGTERMS, terminalMsMax: endMsMax };
    const report = await runCrash({ ...common, ...options, ...plant });
    return { report, lines: lines(report) };
  } finally {
    bar.end();
  }
}

async function main(words: readonly string[]): Promise<number> {
  const call = readCall(words);
  if (call === null) {
    process.stderr.write(USAGE);
    return 2;
  }
  const { report, lines } = await run(call);
  process.stdout.write(call.json ? `${JSON.stringify(report)}\n` : `${lines.join("\n")}\n`);
  return report.problems.length > 0 ? 1 : 0;
}

// Leaving in order takes the service along.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
process.exit(await main(process.argv.slice(2)));
