import { runCommandLine } from "../../../src/cli/program/runCommandLine.ts";
import type { CommandCall, CommandCallEnd } from "./endsOfCalls.ts";

/** A program: takes calls of the command line as JSON, makes them one after the other and writes how each ended. */
const calls = JSON.parse(process.argv[2] ?? "[]") as readonly CommandCall[];
const startedIn = process.cwd();

async function endOf({ words, cwd = startedIn, env = {} }: CommandCall): Promise<CommandCallEnd> {
  const said = { out: "", err: "" };
  process.stdout.write = (text: string | Uint8Array) => {
    said.out += text;
    return true;
  };
  process.stderr.write = (text: string | Uint8Array) => {
    said.err += text;
    return true;
  };
  process.chdir(cwd);
  Object.assign(process.env, env);
  const status = await runCommandLine(words);
  for (const name of Object.keys(env)) delete process.env[name];
  return { status, ...said };
}

process.umask(0o077);
const ends: CommandCallEnd[] = [];
for (const call of calls) ends.push(await endOf(call));
await Bun.write(Bun.stdout, JSON.stringify(ends));
// As the program itself ends: a connection that is still open does not keep it.
process.exit(0);
