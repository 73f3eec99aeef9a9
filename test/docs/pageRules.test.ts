import { describe, expect, test } from "bun:test";
import { firstCurl } from "../../src/service/bootstrapWorkspace.ts";
import { pageFaults, sharedKeyFaults } from "./pageRules.ts";
import { PAGES } from "./pages.ts";
import { planted, printing, sh } from "./plantedPage.ts";

const README_LINES_MAX = 150;
const COLUMNS_MAX = 130;

/** How many blocks of each page have a marker that says why they cannot be run here. */
const NOT_RUN: Readonly<Record<string, number>> = {
  "README.md": 2,
  "docs/backups.md": 9,
  "docs/bounces-and-complaints.md": 6,
  "docs/clients.md": 5,
  "docs/contributing.md": 4,
  "docs/deployment.md": 11,
  "docs/eventstoredb.md": 2,
  "docs/getting-started.md": 1,
  "docs/moving-from-other-providers.md": 1,
  "docs/operations.md": 6,
  "docs/performance-notes.md": 2,
  "docs/performance.md": 7,
  "docs/receiving-webhooks.md": 2,
  "docs/senders-and-domains.md": 1,
  "docs/single-sign-on.md": 1,
};

test("the blocks of all pages are run, but for what is marked with a reason", () => {
  const counted = PAGES.map(({ path, blocks }) => [
    path,
    blocks.filter(({ notRun: reason }) => reason !== null).length,
  ]);
  expect(Object.fromEntries(counted.filter(([, count]) => count !== 0))).toEqual(NOT_RUN);
});

describe("a page", () => {
  test.each(PAGES.map((page) => [page.path, page] as const))("%s links to what is there", (_, page) => {
    expect(pageFaults(page)).toEqual([]);
  });

  test("is not too wide, and the README not too long", () => {
    const wideLines = PAGES.flatMap(({ path, text }) =>
      text.split("\n").flatMap((line, index) => {
        const cannotBeBroken = /^\s*\|/.test(line) || /\S{90}/.test(line);
        return line.length > COLUMNS_MAX && !cannotBeBroken ? [`${path}:${index + 1}`] : [];
      }),
    );
    expect(wideLines).toEqual([]);
    const readme = PAGES.find(({ path }) => path === "README.md");
    expect(readme?.text.trimEnd().split("\n").length).toBeLessThanOrEqual(README_LINES_MAX);
  });

  test("the README sends its first mail as the service itself tells you to", () => {
    const [first] = PAGES[0]?.blocks.filter(({ text }) => text.startsWith("curl")) ?? [];
    const printed = firstCurl("http://127.0.0.1:3000", "data").replace(/hello-\d+/, "hello-0001");
    expect(first?.text).toBe(printed);
  });
});

test("no two pages send under one Idempotency-Key", () => {
  expect(sharedKeyFaults(PAGES)).toEqual([]);
  const sending = (path: string) => ({ ...planted(...sh("curl -H 'Idempotency-Key: order-4711'")), path });
  expect(sharedKeyFaults([sending("docs/a.md"), sending("docs/b.md")])).toEqual([
    "docs/a.md and docs/b.md send under the key order-4711",
  ]);
});

describe("a wrong page is found out without running it:", () => {
  test.each([
    ["a file that is not there", ["See [it](nothing.md)."], "there is no docs/nothing.md"],
    ["a heading that is not there", ["See [it](../README.md#nothing)."], "has no such heading"],
    ["a heading of its own that is not there", ["See [it](#nothing)."], "it has no such heading"],
    ["a block without a language", [...printing("", "x")], "is none of ours"],
    ["a command in another block", [...printing("text", "curl http://x")], "a command that is not run"],
    ["output of nothing", [...printing("json", "{}")], "no command prints this"],
    ["a remark in a command", [...sh("true # well")], "belong into the text"],
    ["a file by name", ["See `src/http/nothing.ts`."], "names src/http/nothing.ts, which is not there"],
    ["a command by name", ["Use `postledger workspcae list`."], "there is no command"],
  ])("%s", (_, lines, fault) => {
    expect(pageFaults(planted(...lines)).join("\n")).toContain(fault);
  });
});
