import { flushStandardOutput } from "./cli/program/flushStandardOutput.ts";
import { runCommandLine } from "./cli/program/runCommandLine.ts";

// Everything that we write holds mail or keys: nobody else on the machine is to read it.
process.umask(0o077);
process.exit(await flushStandardOutput(await runCommandLine(process.argv.slice(2))));
