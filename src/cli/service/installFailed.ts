/**
 * Scripts of package.json run this when their `bun install --silent` has failed, because that does not say why. It installs
 * again, aloud, with the options that it is given. It imports no dependency, and nothing that an older Bun may lack.
 */
import manifest from "../../../package.json";

const BUN_VERSION = manifest.packageManager.replace("bun@", "");

/** Lines of the reason that are shown: without a registry there is one for each package. */
const LINES_MAX = 10;

const { exitCode, stderr } = Bun.spawnSync([process.execPath, "install", ...process.argv.slice(2)], {
  stdio: ["ignore", "ignore", "pipe"],
});
const reason = stderr
  .toString()
  .split("\n")
  .filter((line) => line.trim() !== "")
  .slice(0, LINES_MAX)
  .join("\n");
const outcome =
  exitCode === 0
    ? "the dependencies are installed now, at the second attempt: try again"
    : "the dependencies could not be installed: see above";
const remedy =
  Bun.version === BUN_VERSION
    ? `This is Bun ${BUN_VERSION}, the one that is needed`
    : `This is Bun ${Bun.version}, but Bun ${BUN_VERSION} is needed: https://bun.sh, or \`npx -y bun@${BUN_VERSION} start\``;
process.stderr.write(`${reason}\npostledger: ${outcome}. ${remedy}\n`);
process.exit(1);
