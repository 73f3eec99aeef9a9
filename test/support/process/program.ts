import { join } from "node:path";
import { PROGRAM_VARIABLE } from "../../gate/buildProgram.ts";
import { ROOT } from "../root.ts";

/** The command line that runs the source at `root`, as users do. */
export function sourceCommandLine(root: string): readonly string[] {
  return [process.execPath, join(root, "src/main.ts")];
}

/** The program that a whole run has built; undefined for a test file that runs by itself. */
export const BUILT_PROGRAM = process.env[PROGRAM_VARIABLE];

/** The command line of the program: the one that a whole run has built, or else the source. */
export const COMMAND_LINE: readonly string[] =
  BUILT_PROGRAM === undefined ? sourceCommandLine(ROOT) : [BUILT_PROGRAM];
