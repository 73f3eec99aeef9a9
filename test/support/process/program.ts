import { join } from "node:path";
import { PROGRAM_VARIABLE } from "../../gate/buildProgram.ts";
import { ROOT } from "../root.ts";

/** The words that begin a process of the source at `root`, as users start it. */
export function sourceCommandLine(root: string): readonly string[] {
  return [process.execPath, join(root, "src/main.ts")];
}

const built = process.env[PROGRAM_VARIABLE];

/** The words that begin a process of the program: of the one that a whole run has built, else of the source. */
export const COMMAND_LINE: readonly string[] = built === undefined ? sourceCommandLine(ROOT) : [built];
