import { runCheckSteps } from "./checkSteps.ts";

const failed = (await runCheckSteps()).filter(({ passed }) => !passed);
if (failed.length > 0) console.log(`check: FAILED: ${failed.map(({ name }) => name).join(", ")}`);
else console.log("check: all passed");
process.exit(failed.length > 0 ? 1 : 0);
