import { expect, test } from "bun:test";
import { join } from "node:path";
import { startProcess } from "../support/process/runProcess.ts";
import { ROOT } from "../support/root.ts";

/** Runs `work` as a command does, and prints a line when its clean-up is done. */
function startCommand(work: string) {
  const script = `
    const { interruptible } = await import(${JSON.stringify(join(ROOT, "src/cli/program/interruptible.ts"))});
    process.exitCode = await interruptible("nothing remains", ${work});
  `;
  return startProcess([process.execPath, "-e", script], { env: process.env });
}

test.each([
  ["SIGHUP", 129],
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("a command cleans up although %s comes twice at once", async (name, exitCode) => {
  const command = startCommand(`async (signal) => {
    const kill = () => process.kill(process.pid, "${name}");
    try {
      setImmediate(kill);
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    } finally {
      kill();
      await new Promise((resolve) => setImmediate(resolve));
      console.log("cleaned up");
    }
  }`);
  expect(await command.ended).toEqual({
    exitCode,
    out: "cleaned up\n",
    err: "postledger: interrupted; nothing remains\n",
  });
});

test("a later signal ends a command whose clean-up hangs", async () => {
  const command = startCommand(`() => {
    setInterval(() => process.kill(process.pid, "SIGINT"), 50);
    return new Promise(() => {});
  }`);
  expect(await command.ended).toEqual({ exitCode: 130, out: "", err: "" });
});
