import { expect, test } from "bun:test";
import { groupTestFiles } from "./testGroups.ts";

/** Groups files that hold these texts; those with a `server` are on the shared one. */
function groupsOf(texts: Readonly<Record<string, string>>, single: readonly string[] = []) {
  const textOf = (file: string) => texts[file] ?? "";
  return groupTestFiles(Object.keys(texts), {
    textOf,
    isSingle: (file) => single.includes(file),
    isOnServer: (file) => textOf(file).includes("server"),
    filesMax: { onServer: 2, others: 3 },
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

test("who takes long, breaks services or changes the process is alone", () => {
  const slow = "test/http/slow.test.ts";
  const files = {
    [slow]: "",
    "test/faults/a.test.ts": "",
    "test/browser/b.test.ts": "",
    "test/http/env.test.ts": 'process.env.LANG = "de"',
    "test/http/mock.test.ts": 'mock.module("x", () => ({}))',
  };
  const groups = groupsOf({ ...files, "test/http/c.test.ts": "process.env.LANG === x" }, [slow]);
  expect(groups).toEqual([...Object.keys(files), "test/http/c.test.ts"].map((file) => [file]));
});
