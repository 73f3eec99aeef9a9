import { beforeAll, expect, test } from "bun:test";
import type { CommandCallResult } from "../support/process/commandProcess.ts";
import { runCalls } from "../support/process/runCalls.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";

const TEST_MS_MAX = 120_000;

const dataDir = temporaryFolder();
let ends: readonly CommandCallResult[];

beforeAll(async () => {
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
    call("workspace", "limits"),
    call("workspace", "create", "Other", "--json"),
    call("workspace", "limits", "--messages-per-day", "8"),
    call("workspace", "limits", crypto.randomUUID()),
    call("workspace", "pause"),
  ]);
}, TEST_MS_MAX);

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

test("limits that are not the workspace's own are marked, because a service may have other settings", () => {
  const lines = (ends[5]?.out ?? "").split("\n");
  expect(lines).toContain("messages-per-day  7");
  expect(lines).toContain("key-requests-per-second  0");
  expect(lines).toContain("content-retention-days  30  (default of this environment)");
  expect(lines).toContain("archive-attachments  off  (default of this environment)");
});

test("a pause of the only workspace needs no id either", () => {
  const [created, , , paused, resumed] = ends;
  expect(paused).toMatchObject({ status: 0, out: `${idOf(created)} paused\n` });
  expect(resumed).toMatchObject({ status: 0, out: `${idOf(created)} resumed\n` });
});

test("where there are several, they are listed and nothing is changed", () => {
  const [first, , , , , , second] = ends;
  for (const refused of [ends[7], ends[9]]) {
    expect(refused).toMatchObject({ status: 1, out: "" });
    for (const line of [`${idOf(first)}  Acme`, `${idOf(second)}  Other`])
      expect(refused?.err).toContain(line);
    expect(refused?.err).toContain("add its id");
  }
});

test("an id that no workspace has is not found", () => {
  expect(ends[8]).toMatchObject({
    status: 1,
    out: "",
    err: expect.stringContaining("there is no workspace"),
  });
});
