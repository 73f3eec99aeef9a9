import { expect, test } from "bun:test";
import { groupTestFiles } from "./testGroups.ts";

/** Groups files that hold these texts; those with a `server` are on the shared one. */
function groupsOf(texts: Readonly<Record<string, string>>, slow: readonly string[] = []) {
  const textOf = (file: string) => texts[file] ?? "";
  return groupTestFiles(Object.keys(texts), {
    textOf,
    isSlow: (file) => slow.includes(file),
    isOnServer: (file) => textOf(file).includes("server"),
    filesMax: { slow: 2, onServer: 2, others: 3 },
  });
}

test("small files of one folder have one process, so many and no more", () => {
  const [a, b, c, d] = [
    "test/http/a.test.ts",
    "test/http/b.test.ts",
    "test/http/x/c.test.ts",
    "test/http/d.test.ts",
  ];
  expect(groupsOf({ [a]: "", "test/domain/e.test.ts": "", [b]: "", [c]: "", [d]: "" })).toEqual([
    [a, b, c],
    ["test/domain/e.test.ts"],
    [d],
  ]);
});

test("files on the server are kept apart from those that take none", () => {
  const files = {
    "test/http/a.test.ts": "server",
    "test/http/b.test.ts": "",
    "test/http/c.test.ts": "server",
  };
  expect(groupsOf({ ...files, "test/http/d.test.ts": "server" })).toEqual([
    ["test/http/a.test.ts", "test/http/c.test.ts"],
    ["test/http/b.test.ts"],
    ["test/http/d.test.ts"],
  ]);
});

test("those that take long are together, few at a time", () => {
  const slow = ["a", "c", "d"].map((name) => `test/http/${name}.test.ts`);
  const files = Object.fromEntries(["a", "b", "c", "d"].map((name) => [`test/http/${name}.test.ts`, ""]));
  expect(groupsOf(files, slow)).toEqual([
    ["test/http/a.test.ts", "test/http/c.test.ts"],
    ["test/http/b.test.ts"],
    ["test/http/d.test.ts"],
  ]);
});

test("who changes the process for good, or is of another folder, is alone", () => {
  const files = {
    "test/docs/a.test.ts": "",
    "test/docs/b.test.ts": "",
    "test/http/env.test.ts": 'process.env.LANG = "de"',
    "test/http/mock.test.ts": 'mock.module("x", () => ({}))',
    "test/http/spy.test.ts": 'spyOn(Math, "random").mockReturnValue(1)',
    "test/http/time.test.ts": "setSystemTime(1)",
  };
  const together = {
    "test/http/c.test.ts": "process.env.LANG === x",
    "test/http/d.test.ts": "const spy = spyOn(Math); spy.mockRestore()",
    "test/http/e.test.ts": "setSystemTime(1); afterEach(() => setSystemTime())",
  };
  expect(groupsOf({ ...files, ...together })).toEqual([
    ...Object.keys(files).map((file) => [file]),
    Object.keys(together),
  ]);
});
