import { endOfOutput } from "./cli/program/endOfOutput.ts";
import { runCommandLine } from "./cli/program/runCommandLine.ts";

// Everything that we write holds mail or keys: nobody else on the machine is to read it.
process.umask(0o077);
process.exit(await endOfOutput(await runCommandLine(process.argv.slice(2))));
