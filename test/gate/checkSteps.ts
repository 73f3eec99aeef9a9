import { join } from "node:path";

const ROOT = join(import.meta.dir, "../..");

interface Step {
  readonly name: string;
  /** What Bun is given to run. Tools are run by Bun itself, so that neither Node nor a `bun` on the PATH is needed. */
  readonly args: readonly string[];
  /** What mends most of what it finds. */
  readonly remedy?: string;
}

const tool = (name: string) => join("node_modules/.bin", name);

/** Biome colours what it writes to a file too. */
const COLOURS = process.stdout.isTTY ? [] : ["--colors=off"];

/** Quick tests of what most changes touch. */
const WRITTEN_RULES = [
  "./test/docs/pageRules.test.ts",
  "./test/http/reference/openApi.test.ts",
  "./test/projections/tablesByVersion.test.ts",
];

const STEPS: readonly Step[] = [
  { name: "biome", args: [tool("biome"), "ci", ...COLOURS, "."], remedy: "bunx biome check --write" },
  { name: "types", args: [tool("tsc"), "-p", "."] },
  { name: "dead code", args: [tool("knip"), "--config", "test/gate/knip.json", "--no-progress"] },
  { name: "layers", args: ["test", "--only-failures", "./test/tidy.test.ts"] },
  { name: "pages, API document and tables", args: ["test", "--only-failures", ...WRITTEN_RULES] },
];

/** How one step ended. */
export interface StepResult {
  readonly name: string;
  readonly passed: boolean;
}

async function runStep({ name, args, remedy }: Step): Promise<StepResult> {
  console.log(`check: ${name} …`);
  const startedAt = performance.now();
  const child = Bun.spawn([process.execPath, ...args], {
    cwd: ROOT,
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
  });
  const passed = (await child.exited) === 0;
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  console.log(`check: ${name} ${passed ? "passed" : "FAILED"} in ${seconds} s`);
  if (!passed && remedy !== undefined) console.log(`check: \`${remedy}\` mends what can be mended by itself`);
  return { name, passed };
}

/** Runs every step, also after one that failed, so that one run tells all there is to mend. */
export async function runCheckSteps(): Promise<readonly StepResult[]> {
  const results: StepResult[] = [];
  for (const step of STEPS) results.push(await runStep(step));
  return results;
}
