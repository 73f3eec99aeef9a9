import { join } from "node:path";
import { PROGRAM_VARIABLE } from "../../gate/buildProgram.ts";
import { ROOT } from "../root.ts";

/** The command line that runs the source at `root`, as users do. */
export function sourceCommandLine(root: string): readonly string[] {
  return [process.execPath, join(root, "src/main.ts")];
}

const built = process.env[PROGRAM_VARIABLE];

/** The command line of the program: the one that a whole run has built, or else the source. */
export const COMMAND_LINE: readonly string[] = built === undefined ? sourceCommandLine(ROOT) : [built];
