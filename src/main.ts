import { keepFromOthers } from "./kernel/fileModes.ts";
import { restartWithEngineSettings } from "./service/restartWithEngineSettings.ts";

// Everything that we write holds mail or keys: nobody else on the machine is to read it.
keepFromOthers();
// Before the rest of the program is loaded, because it would be loaded twice.
if (process.argv[2] === "serve") restartWithEngineSettings();
const { flushStandardOutput } = await import("./cli/program/flushStandardOutput.ts");
const { runCommandLine } = await import("./cli/program/runCommandLine.ts");
process.exit(await flushStandardOutput(await runCommandLine(process.argv.slice(2))));
