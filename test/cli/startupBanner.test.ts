import { describe, expect, test } from "bun:test";
import { resolve } from "node:path";
import { startupBanner } from "../../src/cli/service/startupBanner.ts";
import { readConfig } from "../../src/service/config/config.ts";

const url = new URL("http://127.0.0.1:3000/");
type Started = Parameters<typeof startupBanner>[1];
const FIRST_RUN: Started = {
  url,
  bootstrapKey: { id: "qc7xuBpxhDvW", workspaceId: null, isRevoked: false },
  isWithoutWorkspace: false,
  logInLink: null,
};
const EMPTY_LOG: Started = { url, bootstrapKey: null, isWithoutWorkspace: true, logInLink: null };

const shown = (env: Readonly<Record<string, string>>, started = FIRST_RUN) =>
  startupBanner(readConfig(env), started);

/** The commands of ours that it shows, without what comes after their name. */
function commandsIn(text: string): readonly string[] {
  return text
    .split("\n")
    .filter((line) => line.includes("bun run postledger"))
    .map((line) => line.trim().replace(/(bun run postledger) .*/, "$1"));
}

describe("the commands that the banner shows", () => {
  const starts = { "after a first run": FIRST_RUN, "on a log without a workspace": EMPTY_LOG };

  test.each(Object.entries(starts))("%s mean the installation that shows them", (_name, started) => {
    const commands = commandsIn(shown({ DATA_DIR: "/srv/it's mail" }, started));
    expect(commands).toHaveLength(started === FIRST_RUN ? 2 : 4);
    expect(new Set(commands)).toEqual(new Set(["DATA_DIR='/srv/it'\\''s mail' bun run postledger"]));
  });

  test.each(Object.entries(starts))("%s are short where nothing was set", (_name, started) => {
    expect(new Set(commandsIn(shown({}, started)))).toEqual(new Set(["bun run postledger"]));
    expect(commandsIn(shown({ DATA_DIR: "data" }, started))[0]).toBe("bun run postledger");
  });

  test("find a log that is not in DATA_DIR", () => {
    const [command] = commandsIn(shown({ STORE_URL: "file:/srv/log" }));
    expect(command).toBe("STORE_URL='file:/srv/log' bun run postledger");
  });

  test("hold nothing of a connection string, which may have a password in it", () => {
    const env = {
      STORE_URL: "esdb://admin:s3cret@db.example:2113",
      MASTER_KEY: Buffer.alloc(32).toString("base64"),
    };
    expect(shown(env, EMPTY_LOG)).not.toContain("s3cret");
  });
});

test("the banner names the dashboard by the port that was taken", () => {
  expect(shown({ PORT: "0" })).toContain("http://127.0.0.1:3000/dashboard\n");
  expect(shown({ PORT: "0", BASE_URL: "https://mail.example", SMTP_URL: "outbox:" })).toContain(
    "https://mail.example/dashboard\n",
  );
});

test("the banner says where the log is", () => {
  expect(shown({})).toContain(`${resolve("data")} (the log is a file in it)`);
  expect(shown({ STORE_URL: "file:/srv/log" })).toContain(`${resolve("data")} (the log is in /srv/log)`);
  expect(shown({ STORE_URL: "file:log" })).toContain(`(the log is in ${resolve("log")})`);
});
