import { parseArgs } from "node:util";
import { progressBar } from "../../src/cli/output/progressBar.ts";
import { sqliteStore, testStores } from "../support/stores/stores.ts";
import { fuzz } from "./fuzz.ts";
import { FUZZ_PLANTS, type FuzzPlant, isFuzzPlant, runPlanted } from "./plants.ts";
import type { Result } from "./tally.ts";

const REQUESTS = 10_000;
const REQUESTS_MAX = 100_000_000;

const USAGE = `usage: bun run fuzz [--requests N] [--seed S] [--store sqlite|eventstoredb] [--plant FAULT] [--until-found] [--json]

Makes requests from the OpenAPI document, valid, nearly valid and hostile ones, for several workspaces of a service
of its own, and looks for server errors, answers that are not as documented, and what one workspace is shown of another.

  --requests N  how many; ${REQUESTS} unless given
  --seed S      a whole number; the same seed asks the same as far as the answers are the same
  --store NAME  sqlite unless given; eventstoredb takes \`eventstored\` on the PATH
  --plant FAULT puts a fault into a copy of the program: the run must fail. ${Object.keys(FUZZ_PLANTS).join(", ")}
  --until-found ends soon after the first finding
  --json        the result with all details as one JSON value
`;

interface Call {
  readonly requests: number;
  readonly seed: number;
  readonly store: "sqlite" | "eventstoredb";
  readonly plant: FuzzPlant | null;
  readonly untilFound: boolean;
  readonly json: boolean;
}

/** The call's words; null when they are off. */
function readCall(words: readonly string[]): Call | null {
  const options = {
    requests: { type: "string", default: String(REQUESTS) },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    store: { type: "string", default: "sqlite" },
    plant: { type: "string" },
    "until-found": { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  } as const;
  try {
    const { values } = parseArgs({ args: [...words], options, strict: true });
    const { requests, seed, store, plant, json } = values;
    const [count, from] = [Number(requests), Number(seed)];
    if (!Number.isInteger(count) || count < 1 || count > REQUESTS_MAX) return null;
    if (!Number.isSafeInteger(from) || from < 0) return null;
    if (store !== "sqlite" && store !== "eventstoredb") return null;
    if (plant !== undefined && !isFuzzPlant(plant)) return null;
    return {
      requests: count,
      seed: from,
      store,
      plant: plant ?? null,
      untilFound: values["until-found"],
      json,
    };
  } catch {
    return null;
  }
}

function details({ routes, findings, starved, submission, inbound }: Result): readonly string[] {
  return [
    "operation, requests, share of 2xx, answers",
    ...routes.map(({ route, requests, successShare, exempt, answers }) => {
      const share = `${(successShare * 100).toFixed(0)}%${exempt === null ? "" : ` (exempt: ${exempt})`}`;
      const counts = Object.entries(answers).map(([answer, count]) => `${answer} ×${count}`);
      return `  ${route.padEnd(26)} ${String(requests).padStart(7)} ${share.padStart(5)}  ${counts.join(", ")}`;
    }),
    ...findings.map(
      ({ kind, what, lane, number, request }) =>
        `${kind} (lane ${lane}, request ${number}): ${what}\n  ${request}`,
    ),
    `sessions over SMTP: ${submission.sessions}, mails ${submission.mails}, accepted ${submission.accepted}`,
    ...submission.faults.map((fault) => `over SMTP: ${fault}`),
    `sessions with mail that comes back: ${inbound.sessions}, mails ${inbound.mails}, taken ${inbound.accepted}`,
    ...inbound.faults.map((fault) => `with mail that comes back: ${fault}`),
    ...starved.map((route) => `fewer than 20% of the requests of ${route} succeed`),
  ];
}

async function run({ requests, seed, store, untilFound, json }: Call): Promise<number> {
  const name = store === "sqlite" ? "SQLite" : "EventStoreDB";
  const stores = store === "sqlite" ? [sqliteStore] : await testStores();
  const chosen = stores.find((one) => one.name === name);
  if (!chosen) {
    console.error(`${name} is not available`);
    return 1;
  }
  const bar = progressBar("fuzz");
  const result = await fuzz({
    store: chosen,
    requests,
    seed,
    untilFound,
    onProgress: (done) => bar.show(done / requests, `${done}`),
  });
  bar.end();
  const { counts, starved, submission, inbound } = result;
  const smtpFaults = submission.faults.length + inbound.faults.length;
  const errors = counts["server error"];
  const violations = counts["schema violation"];
  if (json) console.log(JSON.stringify({ seed, store: name, ...result }));
  else console.log([`seed ${seed}, ${name}`, ...details(result)].join("\n"));
  const line = `requests ${result.requests}, server errors ${errors}, schema violations ${violations}, leaks ${counts.leak}, faults over SMTP ${smtpFaults}`;
  // With --json the result alone is on standard output.
  (json ? console.error : console.log)(line);
  return errors + violations + counts.leak + starved.length + smtpFaults > 0 ? 1 : 0;
}

const words = process.argv.slice(2);
const call = readCall(words);
if (call === null) {
  console.error(USAGE);
  process.exit(2);
}
process.exit(call.plant === null ? await run(call) : (await runPlanted(call.plant, words, "inherit")).status);
