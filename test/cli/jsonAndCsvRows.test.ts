import { beforeEach, describe, expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { csvRecord, jsonRow, writeLines } from "../../src/cli/output/jsonAndCsvRows.ts";
import { ROOT } from "../support/root.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";

test.each<[readonly (string | number | null | Uint8Array)[], string]>([
  [["a", 1, -0.5, null], "a,1,-0.5,"],
  [["", null, " "], '"",, '],
  [["a,b", 'say "no"', "two\nlines", "two\r\nlines"], '"a,b","say ""no""","two\nlines","two\r\nlines"'],
  [["=1+1", "-1+1", -1, "ü😀"], "'=1+1,'-1+1,-1,ü😀"],
  [[new Uint8Array([0, 255])], "AP8="],
  [[], ""],
])("%p is a record of RFC 4180", (values, record) => {
  expect(csvRecord(values)).toBe(`${record}\r\n`);
});

describe("a file of rows", () => {
  let folder: string;
  beforeEach(() => {
    folder = temporaryFolder();
  });

  test("of which only a part can be written is a failure, and leaves nothing", async () => {
    const program = `
      import { writeLines } from "${ROOT}/src/cli/output/jsonAndCsvRows.ts";
      await writeLines("rows.json", (async function* () { yield "x".repeat(20_000); })());`;
    // A file may have 16 blocks of 1,024 bytes: the system writes that much of it, and refuses what follows.
    const words = ["bash", "-c", 'trap "" XFSZ; ulimit -f 16; exec "$0" -e "$1"', process.execPath, program];
    const child = Bun.spawn(words, { cwd: folder, stderr: "ignore" });
    expect(await child.exited).not.toBe(0);
    expect(await readdir(folder)).toEqual([]);
  });

  test("is whole where two are written under one name at once", async () => {
    const path = join(folder, "rows.json");
    const written = ["a", "b"].map((letter) =>
      writeLines(
        path,
        (async function* () {
          for (let line = 0; line < 30_000; line += 1) yield `${letter}${line}\n`;
        })(),
      ),
    );
    await Promise.all(written);
    const lines = (await Bun.file(path).text()).trimEnd().split("\n");
    expect(lines).toHaveLength(30_000);
    expect(new Set(lines.map((line) => line[0])).size).toBe(1);
    expect(await readdir(folder)).toEqual(["rows.json"]);
  });
});

test("a row as JSON has bytes in base64", () => {
  expect(jsonRow({ a: null, b: 1, c: "x", d: new Uint8Array([1]) })).toEqual({
    a: null,
    b: 1,
    c: "x",
    d: "AQ==",
  });
});
