import { runCommandLine } from "../../../src/cli/program/runCommandLine.ts";
import type { CommandCall, CommandCallResult } from "./runCalls.ts";

/**
 * A program that takes command-line calls as JSON, makes them one after another, as the user of the given id if there is one, and
 * prints their results.
 */
const calls = JSON.parse(process.argv[2] ?? "[]") as readonly CommandCall[];
const initialCwd = process.cwd();

async function runCall({ words, cwd = initialCwd, env = {} }: CommandCall): Promise<CommandCallResult> {
  const output = { out: "", err: "" };
  process.stdout.write = (text: string | Uint8Array) => {
    output.out += text;
    return true;
  };
  process.stderr.write = (text: string | Uint8Array) => {
    output.err += text;
    return true;
  };
  process.chdir(cwd);
  Object.assign(process.env, env);
  const status = await runCommandLine(words);
  for (const name of Object.keys(env)) delete process.env[name];
  return { status, ...output };
}

process.umask(0o077);
const [, , , user] = process.argv;
if (user !== undefined) process.setuid?.(Number(user));
const results: CommandCallResult[] = [];
for (const call of calls) results.push(await runCall(call));
await Bun.write(Bun.stdout, JSON.stringify(results));
// As the program itself ends: a connection that is still open does not keep it.
process.exit(0);
