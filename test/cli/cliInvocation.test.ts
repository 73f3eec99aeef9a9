import { beforeAll, describe, expect, test } from "bun:test";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cliInvocation } from "../../src/kernel/text/cliInvocation.ts";
import { runProcess } from "../support/process/runProcess.ts";
import { ROOT } from "../support/root.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";

const DOCKERFILE = await readFile(join(ROOT, "Dockerfile"), "utf8");
/** What the image says of itself. */
const IMAGE_NAME = /^ENV POSTLEDGER_COMMAND=(\S+)$/m.exec(DOCKERFILE)?.[1] ?? "";

/** Runs a command in the repository, as somebody does who has set nothing but `env`. */
function run(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return runProcess(words, { cwd: ROOT, env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env } });
}

describe("what is to be typed next", () => {
  const folder = temporaryFolder();
  let commandOfImage: string;
  beforeAll(async () => {
    commandOfImage = join(folder, IMAGE_NAME);
    // As the image makes it, but of the source that is here.
    const [, script = ""] = /^RUN printf '([^']+)' > \/usr\/local\/bin\/postledger /m.exec(DOCKERFILE) ?? [];
    const text = script.replace("bun /app", `${process.execPath} ${ROOT}`).replaceAll("\\n", "\n");
    await writeFile(commandOfImage, text);
    await chmod(commandOfImage, 0o755);
  });

  test("in a clone is the script of its package.json", async () => {
    const words = cliInvocation({}, "1.2.3").split(" ");
    expect(words).toEqual(["bun", "run", "postledger"]);
    const manifest = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
    expect(manifest.scripts).toHaveProperty("postledger");
    const { err } = await run([process.execPath, "src/main.ts", "docter"]);
    expect(err).toContain("`bun run postledger help`");
  });

  test("without Bun is what the guide has them type who have Node alone", async () => {
    const agent = "npm/11.6.2 node/v24.10.0 linux x64 workspaces/false";
    const env = { npm_config_user_agent: agent };
    const command = `npx -y ${JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")).packageManager}`;
    expect(cliInvocation(env, "1.2.3")).toBe("npx -y bun@1.2.3 run postledger");
    expect(await readFile(join(ROOT, "docs/getting-started.md"), "utf8")).toContain(command);
    const { err } = await run([process.execPath, "src/main.ts", "docter"], env);
    expect(err).toContain(`\`${command} run postledger help\``);
  });

  test("in the container image is the command that it has", async () => {
    expect(cliInvocation({ POSTLEDGER_COMMAND: IMAGE_NAME }, "1.2.3")).toBe("postledger");
    const env = { POSTLEDGER_COMMAND: IMAGE_NAME, DATA_DIR: join(folder, "nothing") };
    const wrong = await run([commandOfImage, "workspace", "list"], env);
    expect(wrong.err).toContain("\n`postledger serve` makes one.");
    const { out } = await run([commandOfImage, "help", "workspace", "create"], env);
    expect(out).toStartWith("Usage: postledger workspace create ");
    expect(out).toEndWith('\n  postledger workspace create "Acme Ltd"\n');
  });

  test("is written out nowhere in the source but in examples, which are shown as it is here", async () => {
    const written: string[] = [];
    for (const path of new Bun.Glob("src/**/*.{ts,tsx}").scanSync({ cwd: ROOT })) {
      const lines = (await readFile(join(ROOT, path), "utf8")).split("\n");
      const mentioned = lines.filter((line) => /[`>]postledger [a-z]/.test(line));
      written.push(...mentioned.filter((line) => !/^\s*(\*|\/\*\*|examples: )/.test(line)));
    }
    expect(written).toEqual([]);
  });
});
