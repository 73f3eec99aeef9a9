import { join } from "node:path";
import { recordingEnv } from "../../events/recorded.ts";

/** A call of the command line. */
export interface CommandCall {
  readonly words: readonly string[];
  /** The folder that it is made in; without it, the one that the tests run in. */
  readonly cwd?: string;
  /** What is set beside PATH and HOME. */
  readonly env?: Readonly<Record<string, string>>;
}

/** How a call ended, and what it has said. */
export interface CommandCallEnd {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

const PROGRAM = join(import.meta.dir, "callsInOneProcess.ts");

/** Makes calls one after the other in one process: a process each takes most of its time to load the program. */
export async function endsOfCalls(calls: readonly CommandCall[]): Promise<readonly CommandCallEnd[]> {
  const child = Bun.spawn([process.execPath, PROGRAM, JSON.stringify(calls)], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...recordingEnv() },
    stdin: "ignore",
    stdout: "pipe",
  });
  const out = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`the calls came to no end: ${out}`);
  return JSON.parse(out);
}
