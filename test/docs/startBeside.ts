import { existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../support/until.ts";
import { isAlive } from "./isAlive.ts";

/**
 * `bun start` as a page's reader has it in a terminal of its own: it goes on, and the page goes on when it listens.
 * The one before it gets a Ctrl-C first. PAGE_PROGRAM names a built program to start in its place.
 */
const START_MS_MAX = 120_000;
const state = process.argv[2] ?? "";
const pidFile = join(state, "pid");

if (existsSync(pidFile)) {
  const before = Number(readFileSync(pidFile, "utf8"));
  if (isAlive(before)) process.kill(before, "SIGINT");
  await until(() => !isAlive(before), "the previous service to end", START_MS_MAX);
}

const logFile = join(state, "log");
const log = openSync(logFile, "w");
const { PAGE_PROGRAM } = process.env;
const command = PAGE_PROGRAM === undefined ? [process.execPath, "start"] : [PAGE_PROGRAM, "serve"];
const child = Bun.spawn(command, { stdin: "ignore", stdout: log, stderr: log });
writeFileSync(pidFile, String(child.pid));
const lines = () => readFileSync(logFile, "utf8");
await until(
  () => lines().includes('"msg":"listening"') || child.exitCode !== null,
  "the service to listen",
  START_MS_MAX,
);
if (child.exitCode !== null) console.error(lines());
process.exit(child.exitCode ?? 0);
