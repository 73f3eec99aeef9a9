import { expect, test } from "bun:test";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { blockWith } from "./pages.ts";

const folder = temporaryFolder();

/** Writes a program that the tests run. */
async function writeProgram(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  await chmod(path, 0o755);
  return path;
}

test("the script for commands reads the service's settings, and the caller's own win over them", async () => {
  const shows = `sh -c 'echo "$DATA_DIR|$SMTP_URL_FILE|$*"' sh`;
  const script = blockWith("docs/deployment.md", "text", "runuser")
    .replace("/etc/postledger/env", join(folder, "env"))
    .replace("/usr/local/bin/bun /opt/postledger/src/main.ts", shows);
  await writeFile(join(folder, "env"), blockWith("docs/deployment.md", "ini", "SMTP_URL_FILE"));
  // As the service's user: only root has to become that first.
  await writeProgram("id", "#!/bin/sh\necho 1000\n");
  const path = await writeProgram("postledger", script);
  const run = (env: Readonly<Record<string, string>>) =>
    Bun.spawnSync([path, "backup", "restore"], { env: { PATH: `${folder}:${process.env.PATH}`, ...env } });
  const settings = "/etc/postledger/smtp_url|backup restore\n";
  expect(run({}).stdout.toString()).toBe(`/srv/postledger|${settings}`);
  const own = "/mnt/o'neill's disk/$HOME";
  expect(run({ DATA_DIR: own }).stdout.toString()).toBe(`${own}|${settings}`);
});
