import { expect, test } from "bun:test";
import { join } from "node:path";
import { COMMAND_LINE } from "../support/process/program.ts";
import { commandEnv, runCommand } from "../support/process/runCommand.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { until } from "../support/until.ts";

const TEST_MS = 60_000;

test.skipIf(process.platform !== "linux")(
  "a service that may open few files says so at its start, and doctor repeats it",
  async () => {
    const dataDir = temporaryFolder();
    const serve = ["sh", "-c", 'ulimit -n 1000 && exec "$@"', "sh", ...COMMAND_LINE, "serve"];
    const env = { ...commandEnv(dataDir), PORT: "0", LOG_LEVEL: "warn", LOG_FORMAT: "json" };
    const child = Bun.spawn(serve, { env, stdout: "ignore", stderr: "pipe" });
    try {
      let log = "";
      const reading = (async () => {
        for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) log += text;
      })();
      await until(
        () => log.includes("1000 files and connections may be open at once"),
        "the warning",
        TEST_MS,
      );
      const { json } = await runCommand(["doctor", "--json"], dataDir);
      expect(json).toContainEqual({
        name: "file descriptors",
        status: "warning",
        detail: expect.stringMatching(/^1000 files and connections may be open at once, fewer than 4096/),
        action: expect.stringContaining("LimitNOFILE=65536"),
      });
      child.kill("SIGTERM");
      await reading;
      expect(await child.exited).toBe(0);
    } finally {
      child.kill("SIGKILL");
    }
  },
  TEST_MS,
);

test.skipIf(process.platform !== "linux")(
  "a process that can open nothing more blames its own limit, not the relay, and says the same of a file",
  async () => {
    const src = join(import.meta.dir, "../../src");
    const code = `
      import { openSync } from "node:fs";
      import { readConfig } from "${src}/service/config/config.ts";
      import { relayLog } from "${src}/service/logLines/relayLogLines.ts";
      import { workerErrorLog } from "${src}/service/logLines/workerErrorLog.ts";
      const texts: string[] = [];
      const logger = { warn: (_: object, text: string) => void texts.push(text) } as never;
      const config = readConfig({ DATA_DIR: "/nowhere" });
      const tell = relayLog(config, logger, async () => 1);
      const fault = { trouble: "unreachable", reason: "connect ECONNREFUSED" } as const;
      tell({ kind: "began", fault });
      await new Promise(setImmediate);
      try {
        for (;;) openSync("/dev/null", "r");
      } catch (error) {
        workerErrorLog({ logger, text: "work was interrupted" })(error);
      }
      tell({ kind: "began", fault });
      await new Promise(setImmediate);
      process.stdout.write(JSON.stringify(texts), () => process.exit());
    `;
    const limited = ["sh", "-c", 'ulimit -n 100 && exec "$@"', "sh", process.execPath, "-e", code];
    const child = Bun.spawn(limited, { stdout: "pipe", stderr: "inherit" });
    const own = "as many files and connections open as it may";
    expect(await new Response(child.stdout).json()).toEqual([
      expect.stringContaining("check host and port in SMTP_URL"),
      expect.stringMatching(new RegExp(`^work was interrupted: .*${own}.*: set LimitNOFILE=65536`)),
      expect.stringMatching(new RegExp(`${own}.*: set LimitNOFILE=65536.*Mail waits and is retried$`)),
    ]);
  },
  TEST_MS,
);
