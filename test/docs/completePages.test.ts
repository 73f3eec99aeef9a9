import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import manifest from "../../package.json";
import { commandGroups } from "../../src/cli/program/commandGroups.ts";
import { ROOT } from "../support/root.ts";
import { PAGES } from "./pages.ts";

function textOf(path: string): string {
  return PAGES.find((page) => page.path === path)?.text ?? "";
}

/** The code in the cells of one column of all tables of a text. */
function codeInColumn(text: string, column: number): readonly string[] {
  const rows = text.split("\n").filter((line) => line.startsWith("| "));
  return rows.flatMap((row) => {
    const cell = row.split(" | ")[column] ?? "";
    return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
  });
}

function section(text: string, heading: string): string {
  return text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
}

test("the code map has a line for every folder that holds files of src and projections", () => {
  const files = [...new Bun.Glob("{src,projections}/**/*").scanSync({ cwd: ROOT })];
  const folders = new Set(files.map((file) => dirname(file)).filter((folder) => folder !== "src"));
  const described = new Set(codeInColumn(section(textOf("docs/architecture.md"), "Code map"), 0));
  expect([...folders].filter((folder) => !described.has(folder))).toEqual([]);
});

test("every dependency has a line that says what it is needed for, and no other has one", () => {
  const described = codeInColumn(section(textOf("docs/architecture.md"), "Dependencies"), 0);
  expect(described.toSorted()).toEqual(Object.keys(manifest.dependencies).toSorted());
});

test("the page of the command line names every command, and no other", () => {
  const text = textOf("docs/command-line.md").split(/^## Exit status/m)[0] ?? "";
  const named = codeInColumn(text, 0).map((call) => call.replace(/ [<[].*$/, ""));
  const commands = commandGroups.flatMap((group) => group.commands.map(({ name }) => name));
  expect(named.toSorted()).toEqual(commands.toSorted());
});

test("every error code has its line", () => {
  const source = readFileSync(join(ROOT, "src/http/server/problemCodes.ts"), "utf8");
  const codes = [...source.matchAll(/^ {2}([A-Z_]+): \{/gm)].map(([, code = ""]) => code);
  const described = [
    ...codeInColumn(textOf("docs/sending.md"), 1),
    ...codeInColumn(textOf("docs/api.md"), 1),
  ];
  const named = new Set(described.filter((code) => /^[A-Z]+(_[A-Z]+)*$/.test(code)));
  expect(codes.length).toBeGreaterThan(30);
  expect([...named].toSorted()).toEqual(codes.toSorted());
});
