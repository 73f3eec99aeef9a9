import { cpus, totalmem } from "node:os";
import { append, type Bench, deliver, memory, project, send, template } from "./benches.ts";
import { benchStores } from "./benchStores.ts";
import { newReport } from "./report.ts";
import { isolation } from "./webhookIsolation.ts";
import { webhooks } from "./webhooks.ts";

const BENCHES: Readonly<Record<string, Bench>> = {
  append,
  send,
  template,
  project,
  deliver,
  memory,
  webhooks,
  isolation,
};

/** `bun run bench [name…] [--json]`: with `--json` the last line is one JSON object. */
async function main(words: readonly string[]): Promise<number> {
  const json = words.includes("--json");
  const names = words.filter((word) => word !== "--json");
  const unknown = names.find((name) => !(name in BENCHES));
  if (unknown !== undefined) {
    process.stderr.write(`there is no bench ${unknown}; there are ${Object.keys(BENCHES).join(", ")}\n`);
    return 2;
  }
  const [cpu] = cpus();
  const machine = `${cpus().length} × ${cpu?.model ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GiB, Bun ${Bun.version}`;
  process.stderr.write(`${machine}\n`);
  const report = newReport();
  for (const store of benchStores()) {
    for (const name of names.length > 0 ? names : Object.keys(BENCHES)) await BENCHES[name]?.(store, report);
  }
  if (json) process.stdout.write(`${JSON.stringify({ machine, ...report })}\n`);
  return 0;
}

process.exit(await main(process.argv.slice(2)));
