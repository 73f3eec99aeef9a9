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

/**
 * `bun run bench [name…] [--json] [--store NAME] [--messages N] [--turns N]`: with `--json` the last line is one JSON
 * object; `--store` names the only store to measure; `--messages` is for `growth`, `queries` and `dashboard`, `--turns`
 * for `send`, `live`, `webhooks`, `nodes`, `steps` and `guard`. A run in which `guard` finds a fault ends with status 1.
 */
async function main(words: readonly string[]): Promise<number> {
  const { values, positionals: names } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      json: { type: "boolean" },
      store: { type: "string" },
      messages: { type: "string", default: MESSAGES_DEFAULT },
      turns: { type: "string", default: TURNS_DEFAULT },
    },
  });
  const [messages, turns] = [Number(values.messages), Number(values.turns)];
  const isCount = (value: number) => Number.isSafeInteger(value) && value >= 1;
  if (!isCount(messages) || !isCount(turns)) {
    process.stderr.write("--messages takes a number of messages, --turns a number of turns\n");
    return 2;
  }
  const stores = benchStores().filter(({ name }) => name === (values.store ?? name));
  if (stores.length === 0) {
    process.stderr.write(`there is no store ${values.store} here\n`);
    return 2;
  }
  const unknown = names.find((name) => !(name in BENCHES));
  if (unknown !== undefined) {
    process.stderr.write(`there is no bench ${unknown}; there are ${Object.keys(BENCHES).join(", ")}\n`);
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
  if (values.json) process.stdout.write(`${JSON.stringify({ machine, ...report })}\n`);
  return report.faults.length === 0 ? 0 : 1;
}

process.exit(await main(process.argv.slice(2)));
