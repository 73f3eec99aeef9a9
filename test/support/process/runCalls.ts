import { join } from "node:path";
import { recordingEnv } from "../../events/recorded.ts";

/** A call of the command line. */
export interface CommandCall {
  readonly words: readonly string[];
  /** The working directory; by default that of the tests. */
  readonly cwd?: string;
  /** Set in addition to PATH and HOME. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The exit status of a call, and what it printed. */
export interface CommandCallResult {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

const PROGRAM = join(import.meta.dir, "callsProgram.ts");

/** Makes calls one after another in one process: most of the time of a process goes into loading the program. */
export async function runCalls(calls: readonly CommandCall[]): Promise<readonly CommandCallResult[]> {
  const child = Bun.spawn([process.execPath, PROGRAM, JSON.stringify(calls)], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...recordingEnv() },
    stdin: "ignore",
    stdout: "pipe",
  });
  const out = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`the process of the calls failed: ${out}`);
  return JSON.parse(out);
}
