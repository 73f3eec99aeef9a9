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

/** The user id that root gives up its own for, so that the rights of files bind it: `nobody`. */
export const ORDINARY_USER = 65_534;

/**
 * Makes calls one after another in one process: most of the time of a process goes into loading the program.
 * `asOrdinaryUser`: as {@link ORDINARY_USER} if root runs the tests.
 */
export async function runCalls(
  calls: readonly CommandCall[],
  { asOrdinaryUser = false } = {},
): Promise<readonly CommandCallResult[]> {
  const user = asOrdinaryUser && process.getuid?.() === 0 ? [String(ORDINARY_USER)] : [];
  const child = Bun.spawn([process.execPath, PROGRAM, JSON.stringify(calls), ...user], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...recordingEnv() },
    stdin: "ignore",
    stdout: "pipe",
  });
  const out = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`the process of the calls failed: ${out}`);
  return JSON.parse(out);
}
