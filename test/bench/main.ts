import { cpus, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { append, type Bench, deliver, memory, project, template } from "./benches.ts";
import { benchStores } from "./benchStores.ts";
import { dashboard } from "./dashboardPages.ts";
import { insecureNode, nodes, securedNode } from "./eventStoreNodes.ts";
import { follow } from "./follow.ts";
import { growth } from "./growth.ts";
import { guard } from "./guard.ts";
import { live } from "./livePages.ts";
import { queries } from "./queries.ts";
import { newReport } from "./report.ts";
import { steps } from "./sendSteps.ts";
import { send } from "./sends.ts";
import { isolation } from "./webhookIsolation.ts";
import { webhooks } from "./webhooks.ts";

const BENCHES: Readonly<Record<string, Bench>> = {
  append,
  send,
  template,
  project,
  follow,
  deliver,
  memory,
  webhooks,
  isolation,
  growth,
  queries,
  dashboard,
  live,
  nodes,
  "insecure-node": insecureNode,
  "secured-node": securedNode,
  steps,
  guard,
};

/** They take many minutes, or repeat what others measure, so they are run only when they are named. */
const ONLY_BY_NAME: ReadonlySet<string> = new Set([
  "growth",
  "queries",
  "dashboard",
  "live",
  "nodes",
  "insecure-node",
  "secured-node",
  "steps",
  "guard",
]);
const MESSAGES_DEFAULT = "1000000";
const TURNS_DEFAULT = "5";

const USAGE = `usage: bun run bench [name…] [--store NAME] [--messages N] [--turns N] [--json]

Measures what is named: ${Object.keys(BENCHES).join(", ")}.
Without names, all but those that take many minutes or repeat others: ${[...ONLY_BY_NAME].join(", ")}.

  --store NAME  the only store to measure: sqlite or eventstoredb
  --messages N  how many for growth, queries and dashboard; ${MESSAGES_DEFAULT} unless given
  --turns N     how often send, live, webhooks, nodes, steps and guard measure; ${TURNS_DEFAULT} unless given
  --json        the last line is one JSON object

A run in which guard finds a fault ends with status 1.
`;

interface Call {
  readonly names: readonly string[];
  readonly store: string | undefined;
  readonly messages: number;
  readonly turns: number;
  readonly json: boolean;
}

/** The call's words; null when they are off. */
function readCall(words: readonly string[]): Call | null {
  const options = {
    json: { type: "boolean", default: false },
    store: { type: "string" },
    messages: { type: "string", default: MESSAGES_DEFAULT },
    turns: { type: "string", default: TURNS_DEFAULT },
  } as const;
  try {
    const { values, positionals: names } = parseArgs({ args: [...words], allowPositionals: true, options });
    const [messages, turns] = [Number(values.messages), Number(values.turns)];
    const isCount = (value: number) => Number.isSafeInteger(value) && value >= 1;
    if (!isCount(messages) || !isCount(turns) || !names.every((name) => name in BENCHES)) return null;
    return { names, store: values.store, messages, turns, json: values.json };
  } catch {
    return null;
  }
}

async function main({ names, store: only, messages, turns, json }: Call): Promise<number> {
  const stores = benchStores().filter(({ name }) => name === (only ?? name));
  if (stores.length === 0) {
    process.stderr.write(`there is no store ${only} here\n`);
    return 2;
  }
  const [cpu] = cpus();
  const machine = `${cpus().length} × ${cpu?.model ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GiB, Bun ${Bun.version}`;
  process.stderr.write(`${machine}\n`);
  const report = newReport();
  for (const store of stores) {
    const usual = Object.keys(BENCHES).filter((name) => !ONLY_BY_NAME.has(name));
    for (const name of names.length > 0 ? names : usual)
      await BENCHES[name]?.(store, report, { messages, turns });
  }
  for (const fault of report.faults) process.stderr.write(`${fault}\n`);
  if (json) process.stdout.write(`${JSON.stringify({ machine, ...report })}\n`);
  return report.faults.length === 0 ? 0 : 1;
}

const words = process.argv.slice(2);
if (words.includes("--help")) {
  process.stdout.write(USAGE);
  process.exit(0);
}
const call = readCall(words);
if (call === null) process.stderr.write(USAGE);
process.exit(call === null ? 2 : await main(call));
