import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CommandCallResult, runCalls } from "../support/process/runCalls.ts";

const TEST_MS_MAX = 120_000;

let dataDir: string;
let ends: readonly CommandCallResult[];

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "postledger-limits-"));
  const call = (...words: readonly string[]) => ({
    words,
    env: { DATA_DIR: dataDir, DISK_FREE_BYTES_MIN: "0" },
  });
  ends = await runCalls([
    call("workspace", "create", "Acme", "--json"),
    call("workspace", "limits"),
    call("workspace", "limits", "--messages-per-day", "7", "--key-requests-per-second", "0", "--json"),
    call("workspace", "pause"),
    call("workspace", "resume"),
    call("workspace", "create", "Other", "--json"),
    call("workspace", "limits", "--messages-per-day", "8"),
    call("workspace", "limits", crypto.randomUUID()),
    call("workspace", "pause"),
  ]);
}, TEST_MS_MAX);
afterAll(() => rm(dataDir, { recursive: true }));

function idOf(end: CommandCallResult | undefined): string {
  return JSON.parse(end?.out ?? "{}").id;
}

test("limits of the only workspace need no id; which one it is stands first", () => {
  const [created, shown, changed] = ends;
  expect(shown).toMatchObject({ status: 0, err: "" });
  expect(shown?.out).toStartWith(`${idOf(created)}  Acme\nmessages-per-day  `);
  expect(JSON.parse(changed?.out ?? "{}")).toMatchObject({
    id: idOf(created),
    messages_per_day: 7,
    key_requests_per_second: null,
  });
});

test("a pause of the only workspace needs no id either", () => {
  const [created, , , paused, resumed] = ends;
  expect(paused).toMatchObject({ status: 0, out: `${idOf(created)} paused\n` });
  expect(resumed).toMatchObject({ status: 0, out: `${idOf(created)} resumed\n` });
});

test("where there are several, they are listed and nothing is changed", () => {
  const [first, , , , , second] = ends;
  for (const refused of [ends[6], ends[8]]) {
    expect(refused).toMatchObject({ status: 1, out: "" });
    for (const line of [`${idOf(first)}  Acme`, `${idOf(second)}  Other`])
      expect(refused?.err).toContain(line);
    expect(refused?.err).toContain("add its id");
  }
});

test("an id that no workspace has is not found", () => {
  expect(ends[7]).toMatchObject({
    status: 1,
    out: "",
    err: expect.stringContaining("there is no workspace"),
  });
});
