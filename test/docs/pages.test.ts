import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Clone, cloneRepository } from "./pageRunner.ts";
import { PAGES } from "./pages.ts";
import { planted, printing, sh } from "./plantedPage.ts";

const PAGE_MS_MAX = 120_000;

let clone: Clone;
beforeAll(async () => {
  clone = await cloneRepository();
});
afterAll(() => clone.remove());

const notRun = PAGES.flatMap(({ path, blocks }) =>
  blocks.flatMap(({ notRun: reason, text }) =>
    reason === null ? [] : [`${path}: ${reason}: ${text.split("\n")[0]}`],
  ),
);
console.log(`${notRun.length} blocks of the documentation are not run:\n  ${notRun.join("\n  ")}`);

describe("what a reader types in, page by page", () => {
  test.each(PAGES.map((page) => [page.path, page] as const))(
    "works as %s says",
    async (_, page) => {
      expect(await clone.follow(page)).toEqual([]);
    },
    PAGE_MS_MAX,
  );
});

describe("a wrong page is found out:", () => {
  const READY = "curl http://127.0.0.1:3000/health/live";
  test.each([
    ["a command that is not there", [...sh("bun run postledger workspcae list")], "exit status 2"],
    ["one that fails in the middle", [...sh("false", "true")], "exit status 1"],
    [
      "an exit status that is another",
      ["<!-- exit status: 2 -->", ...sh("true")],
      "exit status 0 in place of 2",
    ],
    ["a path that is not there", [...sh("curl http://127.0.0.1:3000/api/v1/nothing")], "answered 404"],
    ["a request without a key", [...sh("curl http://127.0.0.1:3000/api/v1/emails")], "answered 401"],
    [
      "a member that is missing",
      [...sh(READY), ...printing("json", '{ "status": "ok", "age": 1 }')],
      "no age",
    ],
    ["a member that is not shown", [...sh(READY), ...printing("json", "{}")], "does not show status"],
    ["another value", [...sh(READY), ...printing("json", '{ "status": "well" }')], 'in place of "well"'],
    [
      "another kind",
      [...sh("echo 1.0 at 7"), ...printing("text", "1.0 at noon")],
      "no line like: 1.0 at noon",
    ],
    [
      "one id where there are two",
      [
        ...sh("echo 0b7e2d3a-58c4-5f0e-9d0b-8a2f6c1e4d37", "echo c1f455c1-1eaf-58ea-8710-5342809e3edd"),
        ...printing("text", "0b7e2d3a-58c4-5f0e-9d0b-8a2f6c1e4d37", "0b7e2d3a-58c4-5f0e-9d0b-8a2f6c1e4d37"),
      ],
      "no line like",
    ],
  ])(
    "%s",
    async (_, lines, fault) => {
      expect((await clone.follow(planted(...lines), 0)).join("\n")).toContain(fault);
    },
    PAGE_MS_MAX,
  );
});
