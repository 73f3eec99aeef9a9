import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BUILT_PROGRAM, sourceCommandLine } from "../support/process/program.ts";
import { runProcess } from "../support/process/runProcess.ts";
import { ROOT } from "../support/root.ts";
import { startTestProcess, type TestProcess } from "../support/service.ts";
import { until } from "../support/until.ts";
import { buildProgram, buildThreads } from "./buildProgram.ts";
import { THREADS_VARIABLE } from "./builtThreads.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "postledger-build-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** What shows in which folder its modules are, and that its threads run. */
async function shownBy({ url, call, send }: TestProcess) {
  const get = async (path: string) => {
    const answer = await fetch(url + path);
    return { status: answer.status, text: await answer.text() };
  };
  const page = await get("/dashboard/log-in");
  const files = [...page.text.matchAll(/(?:href|src)="([^"]+\.(?:css|js|svg))"/g)].map(
    ([, file = ""]) => file,
  );
  const assets = await Promise.all(files.map(get));
  const sent = await send("a-first-message", {
    from: "hello@example.com",
    to: "ada@example.net",
    subject: "Hello",
    html: "<p>Hello, <b>Ada</b>.</p>",
  });
  const isListed = async () => (await call("GET", "/api/v1/emails")).json.data.length === 1;
  await until(isListed, "the read-model thread to list the projection");
  return {
    page: page.status,
    files,
    assets: assets.map(({ status, text }) => [status, Bun.hash(text)]),
    sent: sent.status,
  };
}

async function shownWhenStarted(program: readonly string[]) {
  const service = await startTestProcess({ program });
  try {
    return await shownBy(service);
  } finally {
    await service.kill("SIGTERM");
    await rm(service.dataDir, { recursive: true });
  }
}

test("a built program serves what the source does, from any folder", async () => {
  const built = await shownWhenStarted([BUILT_PROGRAM ?? (await buildProgram(ROOT, folder))]);
  expect(built).toEqual(await shownWhenStarted(sourceCommandLine(ROOT)));
  expect(built).toMatchObject({ page: 200, sent: 202 });
  expect(built.files.length).toBeGreaterThan(1);
});

describe("of a source with a fault", () => {
  async function sourceWith(main: string): Promise<string> {
    const root = join(folder, `source-${Bun.hash(main)}`);
    await mkdir(join(root, "src"), { recursive: true });
    await writeFile(join(root, "src/fails.ts"), main);
    await writeFile(join(root, "src/main.ts"), 'import "./fails.ts";');
    await mkdir(join(root, "built"));
    return root;
  }

  test("what it throws is told with its place in the source", async () => {
    const root = await sourceWith('\n\nthrow new Error("planted");\n');
    const { err, exitCode } = await runProcess([await buildProgram(root, join(root, "built"))], { env: {} });
    expect({ exitCode, err }).toEqual({
      exitCode: 1,
      err: expect.stringMatching(/planted[\s\S]*src\/fails\.ts:3:/),
    });
  });

  test("nothing is built of what cannot be read", async () => {
    const root = await sourceWith("const = 1;");
    expect(buildProgram(root, join(root, "built"))).rejects.toThrow(AggregateError);
  });
});

describe("the threads of a source", () => {
  const told = (from: string) => `\n\nself.onmessage = () => self.postMessage(
    ["${from}", new Error().stack, import.meta.dir].join());\n`;
  const STARTS = `class Told extends Worker { tell(data) { console.log(data); this.terminate(); } }
    globalThis.Worker = Told;
    const thread = new Worker(new URL("./says.ts", import.meta.url).href);
    thread.onmessage = ({ data }) => thread.tell(data);
    thread.postMessage("what are you?");`;

  test("start from what was built of them, also by a class of a test's own, and tell places in the source", async () => {
    const root = join(folder, "threads");
    await mkdir(join(root, "src"), { recursive: true });
    await writeFile(join(root, "src/says.ts"), told("built"));
    await writeFile(join(root, "src/main.ts"), STARTS);
    const env = { [THREADS_VARIABLE]: await buildThreads(root, join(root, "built")) };
    await writeFile(join(root, "src/says.ts"), told("source"));
    const run = (more: Readonly<Record<string, string>>) => {
      const preload = `--preload=${join(import.meta.dir, "builtThreads.ts")}`;
      return runProcess([process.execPath, preload, join(root, "src/main.ts")], { env: more });
    };
    const [fromBuild, fromSource] = await Promise.all([run(env), run({})]);
    expect(fromBuild.out).toMatch(/^built[\s\S]*src\/says\.ts:4:[\s\S]*,.*\/threads\/src\n$/);
    expect(fromSource.out).toMatch(/^source[\s\S]*src\/says\.ts:4:[\s\S]*,.*\/threads\/src\n$/);
  });
});
