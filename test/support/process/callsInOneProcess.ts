import { runCommandLine } from "../../../src/cli/program/runCommandLine.ts";

/**
 * A program: takes calls of the command line as JSON (a list of lists of words), makes them one after the other and
 * writes what became of each, as JSON. For many calls that only read their words: a process each takes long.
 */
const calls = JSON.parse(process.argv[2] ?? "[]") as readonly (readonly string[])[];
const write = process.stdout.write.bind(process.stdout);

async function ended(words: readonly string[]) {
  const said = { out: "", err: "" };
  process.stdout.write = (text: string | Uint8Array) => {
    said.out += text;
    return true;
  };
  process.stderr.write = (text: string | Uint8Array) => {
    said.err += text;
    return true;
  };
  return { status: await runCommandLine(words), ...said };
}

const ends: Awaited<ReturnType<typeof ended>>[] = [];
for (const words of calls) ends.push(await ended(words));
write(JSON.stringify(ends));
