import { expect, test } from "bun:test";
import { csvRecord, jsonRow } from "../../src/cli/output/jsonAndCsvRows.ts";

test.each<[readonly (string | number | null | Uint8Array)[], string]>([
  [["a", 1, -0.5, null], "a,1,-0.5,"],
  [["", null, " "], '"",, '],
  [["a,b", 'say "no"', "two\nlines", "two\r\nlines"], '"a,b","say ""no""","two\nlines","two\r\nlines"'],
  [["=1+1", "ü😀"], "=1+1,ü😀"],
  [[new Uint8Array([0, 255])], "AP8="],
  [[], ""],
])("%p is a record of RFC 4180", (values, record) => {
  expect(csvRecord(values)).toBe(`${record}\r\n`);
});

test("a row as JSON has bytes in base64", () => {
  expect(jsonRow({ a: null, b: 1, c: "x", d: new Uint8Array([1]) })).toEqual({
    a: null,
    b: 1,
    c: "x",
    d: "AQ==",
  });
});
