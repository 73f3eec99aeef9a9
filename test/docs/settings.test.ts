import { expect, test } from "bun:test";
import { readConfig } from "../../src/service/config/config.ts";
import { PAGES } from "./pages.ts";
import { settingNames } from "./settingNames.ts";

const ROW = /^\| ((?:`[A-Z][A-Z0-9_]*`(?:, )?)+)( \(or file\))? \| (.*?) \|/gm;

/** The settings of the page's tables: each with its default as it stands there, and whether a file can hold it. */
const ROWS = [
  ...(PAGES.find(({ path }) => path === "docs/configuration.md")?.text ?? "").matchAll(ROW),
].flatMap(([, names = "", file, shown = ""]) =>
  names.split(", ").map((name) => ({ name: name.slice(1, -1), isFile: file !== undefined, shown })),
);

test("the page of settings names all that there are, and no other", () => {
  const named = ROWS.flatMap(({ name, isFile }) => (isFile ? [name, `${name}_FILE`] : [name]));
  expect(named.toSorted()).toEqual([...settingNames()].toSorted());
});

test("a default that the page shows is what holds without the setting", () => {
  const literal = ROWS.flatMap(({ name, shown }) => {
    const [, value] = /^`([^`:]*)`$/.exec(shown) ?? [];
    return value === undefined ? [] : [{ name, value }];
  });
  // Without S3, whose settings are read for an s3:// CONTENT_URL alone.
  expect(literal.length).toBeGreaterThan(30);
  for (const { name, value } of literal)
    expect({ name, config: readConfig({ [name]: value }) }).toEqual({ name, config: readConfig({}) });
});
