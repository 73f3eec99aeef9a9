import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmod, chown, cp, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { CommandCallResult } from "../support/process/commandProcess.ts";
import { ORDINARY_USER, runCallsApart } from "../support/process/runCalls.ts";
import { startTestApp } from "../support/service.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";

const TEST_MS = 60_000;
const IS_ROOT = process.getuid?.() === 0;
/** What is another user's in each data directory; "" is the directory itself. */
const CLOSED = ["", "events.db", "lock.db", "master.key", "content", "content/identity"];
/** What each call has to look into. */
const CALLS = {
  serve: CLOSED,
  doctor: CLOSED,
  "workspace list": CLOSED.filter((name) => name !== "lock.db" && !name.startsWith("content")),
};

const parent = temporaryFolder();
let results: ReadonlyMap<string, CommandCallResult>;
const directoryOf = (name: string) => join(parent, name === "" ? "itself" : name.replace("/", "-"));

const readOnlyOf = (name: string) => join(parent, `read-only-${name}`);

/** Gives all of a directory to the ordinary user, except what is at `closed`. */
async function closeTo(directory: string, closed: string): Promise<void> {
  const own = ["", ...(await readdir(directory, { recursive: true }))];
  // A test that is not run by root can give nothing away, only shut itself out.
  if (!IS_ROOT) return chmod(join(directory, closed), 0);
  await chmod(join(directory, closed), 0o700);
  for (const name of own) {
    const isTheirs = name === closed || (closed === "content" && name.startsWith("content/"));
    if (!isTheirs) await chown(join(directory, name), ORDINARY_USER, ORDINARY_USER);
  }
}

beforeAll(async () => {
  await chmod(parent, 0o755);
  const service = await startTestApp({ dataDir: join(parent, "original") });
  await service.app.stop();
  for (const name of CLOSED) {
    await cp(join(parent, "original"), directoryOf(name), { recursive: true });
    await closeTo(directoryOf(name), name);
  }
  for (const name of ["events.db", "lock.db"]) {
    await cp(join(parent, "original"), readOnlyOf(name), { recursive: true });
    await closeTo(readOnlyOf(name), name);
    await chmod(join(readOnlyOf(name), name), 0o444);
  }
  await mkdir(join(parent, "empty"));
  await chmod(join(parent, "empty"), 0o555);
  const pairs = Object.entries(CALLS).flatMap(([words, names]) => names.map((name) => ({ words, name })));
  const env = { HOST: "127.0.0.1", PORT: "0", LOG_LEVEL: "silent" };
  const calls = pairs.map(({ words, name }) => {
    return { words: words.split(" "), env: { ...env, DATA_DIR: directoryOf(name) } };
  });
  const starts = [readOnlyOf("events.db"), readOnlyOf("lock.db"), join(parent, "empty")];
  const otherCalls = starts.map((dataDir) => ({ words: ["serve"], env: { ...env, DATA_DIR: dataDir } }));
  const found = await runCallsApart([...calls, ...otherCalls], { asOrdinaryUser: true });
  const keys = [...pairs.map(({ words, name }) => `${words} ${name}`), ...starts];
  results = new Map(found.map((result, index) => [keys[index] ?? "", result]));
}, TEST_MS);

afterAll(async () => {
  for (const name of CLOSED) await chmod(join(directoryOf(name), name), 0o700);
});

test.each(Object.entries(CALLS).flatMap(([words, names]) => names.map((name) => [words, name] as const)))(
  "%s names what is another user's (%p), and never advises another directory",
  (words, name) => {
    const result = results.get(`${words} ${name}`);
    const text = `${result?.out}${result?.err}`;
    expect(result?.status).not.toBe(0);
    expect(text).toContain(join(directoryOf(name), name));
    expect(text).not.toMatch(/set \w+ to a directory/i);
    // A command that cannot look into the directory does not know who it should be, but what to do.
    if (name === "" && words !== "serve") expect(text).toContain("Run this as the service's user");
    else {
      expect(text).toMatch(IS_ROOT ? /belongs to uid 0\b.*chown -R 65534 / : /chmod -R u\+rwX /);
      expect(text).toContain("Another directory would begin an empty log");
    }
  },
);

test.each(["events.db", "lock.db"])("a start names %p if it may only be read", (name) => {
  const { status, err } = results.get(readOnlyOf(name)) as CommandCallResult;
  expect(status).toBe(2);
  expect(err).toContain(
    `this user (uid ${IS_ROOT ? ORDINARY_USER : process.getuid?.()}) may not read and write`,
  );
  expect(err).toContain(join(readOnlyOf(name), name));
});

test("an empty directory of another user's holds nothing to lose: another one will do", () => {
  const { err } = results.get(join(parent, "empty")) as CommandCallResult;
  expect(err).toMatch(/\(EACCES\)\. Set DATA_DIR to a directory that this user can write to\n$/);
});
