import { runCommandLine } from "../../../src/cli/program/runCommandLine.ts";
import { keepFromOthers } from "../../../src/kernel/fileModes.ts";
import type { CommandCall, CommandCallResult } from "./commandProcess.ts";

/**
 * A program that makes the command-line calls that its parent sends, one after another, and sends back how each ended; as the user
 * of the given id if there is one. It ends with its parent.
 */
const initialCwd = process.cwd();

type Write = (text: string | Uint8Array, written?: (error?: Error) => void) => boolean;

async function runCall({ words, cwd = initialCwd, env = {} }: CommandCall): Promise<CommandCallResult> {
  const output = { out: "", err: "" };
  const writeTo = (stream: keyof typeof output): Write => {
    return (text, written) => {
      output[stream] += text;
      written?.();
      return true;
    };
  };
  process.stdout.write = writeTo("out") as typeof process.stdout.write;
  process.stderr.write = writeTo("err") as typeof process.stderr.write;
  process.chdir(cwd);
  const own = Object.keys(env).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, env);
  const status = await runCommandLine(words);
  for (const [name, value] of own) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  process.chdir(initialCwd);
  return { status, ...output };
}

keepFromOthers();
const [, , user] = process.argv;
if (user !== undefined) process.setuid?.(Number(user));
let last = Promise.resolve();
process.on("message", (call: CommandCall) => {
  last = last.then(async () => void process.send?.(await runCall(call)));
});
// As the program itself ends: a connection that is still open does not keep it.
process.on("disconnect", () => process.exit(0));
