import { openSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BUILT_PROGRAM } from "../support/process/program.ts";
import { ROOT } from "../support/root.ts";
import { emptyNameServer } from "../support/servers/nameServer.ts";
import { freePort } from "../support/stores/eventstoredb.ts";
import { until } from "../support/until.ts";
import { isAlive } from "./isAlive.ts";
import type { Block, Page } from "./markdownPage.ts";
import { type Bindings, jsonOutputFault, textOutputFault, withValues } from "./outputShape.ts";
import { settingNames } from "./settingNames.ts";

/** What of a clone the pages work with. */
const CLONED = [
  "package.json",
  "bun.lock",
  "bunfig.toml",
  "tsconfig.json",
  "src",
  "projections",
  "test",
  "examples",
];
const INSTALLED = "node_modules";
/** Where the pages say that something listens; here it is another port. */
const SERVICE = "127.0.0.1:3000";
const RECEIVER = "localhost:4000";
/** Starts the receiver in the background. */
const RECEIVER_START = "PORT=4000";
const SUBMISSION = "127.0.0.1:2525";
const METRICS = "127.0.0.1:9464";
/** Who only looks may look again for so long, until what the page shows is there. */
const RETRY_MS_MAX = 15_000;
const RETRY_INTERVAL_MS = 50;
const STOPPING_MS_MAX = 60_000;
const RECEIVER_START_MS_MAX = 30_000;
const ANSWER = /^answered (\d{3}) (.*)$/gm;

/** A clone of the repository in which pages are followed, one after another, each from its beginning. */
export interface Clone {
  /** What is wrong with what a page says, each as `path:line: what`. */
  follow(page: Page, retryMsMax?: number): Promise<readonly string[]>;
  remove(): Promise<void>;
}

interface Printed {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Starts the built program in place of `bun run postledger`, except for the first such command, which makes `ranFile`. */
function startsBuilt(program: string, ranFile: string): string {
  return `if [ "$1 $2" = "run postledger" ]; then
  if [ -e ${quoted(ranFile)} ]; then shift 2; exec ${quoted(program)} "$@"; fi
  touch ${quoted(ranFile)}
fi`;
}

/** Is there once a page in this clone has run a command. */
function ranFileOf(root: string): string {
  return `${root}.ran`;
}

/** `bun start` goes on beside the page, and says how `curl` was answered. */
async function writePrograms(directory: string, ranFile: string): Promise<void> {
  const bun = quoted(process.execPath);
  const start = quoted(join(import.meta.dir, "startBeside.ts"));
  const programs = {
    bun: [
      `if [ "$1" = start ]; then exec ${bun} ${start} "$PAGE_STATE"; fi`,
      ...(BUILT_PROGRAM === undefined ? [] : [startsBuilt(BUILT_PROGRAM, ranFile)]),
      `exec ${bun} "$@"`,
    ].join("\n"),
    curl: `exec ${quoted(Bun.which("curl") ?? "curl")} --no-progress-meter -w '%{stderr}\\nanswered %{http_code} %{url_effective}\\n' "$@"`,
  };
  await mkdir(directory);
  for (const [name, text] of Object.entries(programs))
    await writeFile(join(directory, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
}

/** Follows one page: its shell, its service, and the values that it has come to. */
class Follower {
  readonly faults: string[] = [];
  readonly #bindings: Bindings = new Map();
  #addresses: readonly (readonly [shown: string, here: string])[] = [];
  #receiverPort = 0;
  #env: Record<string, string> = {};

  constructor(
    private readonly root: string,
    private readonly state: string,
    private readonly page: Page,
    private readonly retryMsMax: number,
  ) {}

  async prepare(): Promise<void> {
    const [port, receiverPort] = [await freePort(), await freePort()];
    const [submissionPort, metricsPort] = [await freePort(), await freePort()];
    this.#receiverPort = receiverPort;
    this.#addresses = [
      [SERVICE, `127.0.0.1:${port}`],
      [RECEIVER, `localhost:${receiverPort}`],
      [RECEIVER_START, `PORT=${receiverPort}`],
      [SUBMISSION, `127.0.0.1:${submissionPort}`],
      ["SUBMISSION_PORT=2525", `SUBMISSION_PORT=${submissionPort}`],
      [METRICS, `127.0.0.1:${metricsPort}`],
      ["METRICS_PORT=9464", `METRICS_PORT=${metricsPort}`],
    ];
    const { address } = await emptyNameServer();
    const known = settingNames();
    const inherited = Object.entries(process.env).filter(([name]) => !known.has(name));
    this.#env = {
      ...(Object.fromEntries(inherited) as Record<string, string>),
      PATH: `${join(this.state, "bin")}:${process.env.PATH}`,
      PAGE_STATE: this.state,
      PORT: String(port),
      DNS_SERVERS: address,
      DISK_FREE_BYTES_MIN: "0",
    };
    await writeFile(join(this.state, "variables"), "");
    await writePrograms(join(this.state, "bin"), ranFileOf(this.root));
  }

  /** Starts the service that this page has from the one before: the built one, for `bun start` is tried where it is written. */
  async startService(): Promise<void> {
    const program = BUILT_PROGRAM === undefined ? "" : `PAGE_PROGRAM=${quoted(BUILT_PROGRAM)} `;
    const { exitCode, err } = await this.#bash(`${program}bun start`);
    if (exitCode !== 0) throw new Error(`the service did not start: ${err}`);
  }

  /** Ends the service, and what the page has begun beside itself. */
  async stop(): Promise<void> {
    const files = ["pid", "beside"].map((name) => readFile(join(this.state, name), "utf8").catch(() => ""));
    const pids = (await Promise.all(files))
      .join("\n")
      .split(/\s+/)
      .filter((pid) => pid !== "");
    for (const pid of pids.map(Number).filter(isAlive)) {
      process.kill(pid, "SIGTERM");
      await until(() => !isAlive(pid), "the processes of the page to end", STOPPING_MS_MAX);
    }
  }

  async run(block: Block, output: Block | null): Promise<void> {
    const deadline = Date.now() + (isLooking(block.text) ? this.retryMsMax : 0);
    for (;;) {
      const printed = await this.#bash(this.#here(block.text));
      const fault = this.#fileFaultOf(block, output, printed);
      if (fault === null) {
        if (block.text.includes(RECEIVER_START)) await this.#receiverListens();
        return;
      }
      if (Date.now() >= deadline) {
        this.faults.push(`${this.page.path}:${block.line}: ${fault}`);
        return;
      }
      await Bun.sleep(RETRY_INTERVAL_MS);
    }
  }

  /** A reader is slower than the receiver's start; the next block is not, and would lose its first webhook call. */
  async #receiverListens(): Promise<void> {
    const answers = () =>
      fetch(`http://localhost:${this.#receiverPort}`).then(
        () => true,
        () => false,
      );
    await until(answers, "the receiver of the page to listen", RECEIVER_START_MS_MAX);
  }

  #here(text: string): string {
    const addressed = this.#addresses.reduce((all, [shown, here]) => all.replaceAll(shown, here), text);
    return withValues(addressed, this.#bindings);
  }

  #asShown(text: string): string {
    return this.#addresses.reduce((all, [shown, here]) => all.replaceAll(here, shown), text);
  }

  #fileFaultOf(block: Block, output: Block | null, printed: Printed): string | null {
    const { exitCode, out, err } = printed;
    if (exitCode !== block.exitStatus)
      return `exit status ${exitCode} in place of ${block.exitStatus}: ${block.text}\n${out}${err}`;
    const refused = [...err.matchAll(ANSWER)].find(
      ([, status = ""]) => Number(status) >= 400 && !(output?.text ?? "").includes(status),
    );
    if (refused !== undefined) return `${refused[2]} answered ${refused[1]}: ${block.text}\n${out}`;
    if (output === null) return null;
    const text = this.#asShown(out === "" ? err : out);
    const fault = output.language === "json" ? jsonOutputFault : textOutputFault;
    const found = fault(output.text, text, this.#bindings);
    return found === null ? null : `what is shown at line ${output.line} is not what comes: ${found}`;
  }

  /** Runs a script in the page's shell, whose variables it keeps. Ends at the first command that fails. */
  async #bash(script: string): Promise<Printed> {
    const variables = quoted(join(this.state, "variables"));
    const keep = `declare -p | grep -vE '^declare -[a-zA-Z]*[ra]' > ${variables}; jobs -p >> ${quoted(join(this.state, "beside"))}`;
    const whole = `. ${variables} 2> /dev/null\ntrap ${quoted(keep)} EXIT\nset -e -o pipefail\n${script}\n`;
    const child = Bun.spawn(["bash", "--norc", "-c", whole], {
      cwd: this.root,
      env: this.#env,
      stdin: "ignore",
      stdout: openSync(join(this.state, "out"), "w"),
      stderr: openSync(join(this.state, "err"), "w"),
    });
    const exitCode = await child.exited;
    const [out, err] = await Promise.all(
      ["out", "err"].map((name) => readFile(join(this.state, name), "utf8")),
    );
    return { exitCode, out: out ?? "", err: err ?? "" };
  }
}

/** Whether a block only looks: it may be run again until what it looks for is there. */
function isLooking(text: string): boolean {
  const commands = text.replaceAll("\\\n", " ").split("\n");
  return commands.every((line) => /^(curl|cat|ls|tail) /.test(line) && !/ -(X|d|F|-data|-form)/.test(line));
}

/** A `json` or `text` block right behind an `sh` block is what that prints, unless it is marked. */
function outputOf(blocks: readonly Block[], index: number): Block | null {
  const next = blocks[index + 1];
  return next !== undefined && /^(json|text)$/.test(next.language) && next.notRun === null ? next : null;
}

async function follow(root: string, page: Page, retryMsMax: number): Promise<readonly string[]> {
  const state = await mkdtemp(join(tmpdir(), "postledger-page-"));
  const follower = new Follower(root, state, page, retryMsMax);
  await follower.prepare();
  try {
    const runs = page.blocks.filter(({ language, notRun }) => language === "sh" && notRun === null);
    const isServed = runs.some(({ text }) => text.includes(SERVICE) || text.includes("bun run postledger"));
    if (isServed && runs[0]?.text !== "bun start") await follower.startService();
    for (const block of runs) {
      await follower.run(block, outputOf(page.blocks, page.blocks.indexOf(block)));
      // What comes after a command that has failed says nothing.
      if (follower.faults.length > 0) break;
    }
  } finally {
    await follower.stop();
    await rm(state, { recursive: true, force: true });
  }
  return follower.faults;
}

/** Makes a clone, with what `bun start` would install. */
export async function cloneRepository(): Promise<Clone> {
  const directory = await mkdtemp(join(tmpdir(), "postledger-docs-"));
  for (const name of CLONED) await cp(join(ROOT, name), join(directory, name), { recursive: true });
  return {
    async follow(page, retryMsMax = RETRY_MS_MAX) {
      const faults = await follow(directory, page, retryMsMax);
      // Nothing that one page has made is there for the next one.
      for (const name of await readdir(directory))
        if (!CLONED.includes(name) && name !== INSTALLED)
          await rm(join(directory, name), { recursive: true, force: true });
      return faults;
    },
    async remove() {
      await rm(directory, { recursive: true, force: true });
      await rm(ranFileOf(directory), { force: true });
    },
  };
}
