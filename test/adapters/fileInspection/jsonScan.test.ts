import { expect, test } from "bun:test";
import fc from "fast-check";
import { fileInspector } from "../../../src/adapters/fileInspection/fileInspector.ts";
import { jsonFault } from "../../../src/adapters/fileInspection/textInspection.ts";
import { parseJson } from "../../../src/kernel/text/json.ts";

const NOT_JSON = "is not valid JSON";
const FILE_BYTES = 5_000_000;

function isJson(text: string): boolean {
  return parseJson(text) !== undefined;
}

async function agreesWithParser(text: string): Promise<void> {
  expect([text, await jsonFault(text)]).toEqual([text, isJson(text) ? null : NOT_JSON]);
}

test("it accepts the same JSON as the parser", async () => {
  const token = fc.constantFrom(
    ...'[]{}:,"\\/ \t\n\r\f\u0000\u001f\u00a0\ufeffé0123456789.eE+-uabntrfx',
    ...'true false null -0 01 1e5 1.5 \\u00e9 \\uD800 \\x "a" "a":1 [] {} NaN Infinity \''.split(" "),
  );
  const edited = fc
    .tuple(fc.json({ maxDepth: 4 }), fc.nat(), fc.nat({ max: 3 }), token)
    .map(([json, at, removed, put]) => {
      const offset = at % (json.length + 1);
      return json.slice(0, offset) + put + json.slice(offset + removed);
    });
  const texts = fc.array(token, { maxLength: 12 }).map((parts) => parts.join(""));
  const text = fc.oneof(fc.json(), edited, texts);
  await fc.assert(fc.asyncProperty(text, agreesWithParser), { numRuns: 3_000 });
});

test("a text scanned over many turns is judged as a whole", async () => {
  const texts = ["1,", "[],", '{"a":"\\u00e9\\n"},', '"é\\"",'].map(
    (item) => `[${item.repeat(FILE_BYTES / 10 / item.length).slice(0, -1)}]`,
  );
  const long = `"${"a\\n".repeat(FILE_BYTES / 10)}"`;
  for (const text of [...texts, long, `${" ".repeat(FILE_BYTES / 10)}7`]) {
    expect(await jsonFault(text)).toBeNull();
    for (const broken of [text.slice(0, -1), `${text}]`, `${text} x`, `${text.slice(0, -1)}\\`])
      await expect(jsonFault(broken)).resolves.toBe(NOT_JSON);
  }
}, 60_000);

test("nesting is bounded, however the text ends", async () => {
  const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  expect(await jsonFault(deep(1_000))).toBeNull();
  for (const text of [deep(1_001), "[".repeat(FILE_BYTES), '{"a":'.repeat(1_001)])
    expect(await jsonFault(text)).toContain("nested");
});

// The fault comes last, so no later check runs that would yield to the event loop too.
test.each([
  ["json", `[${"[],".repeat(FILE_BYTES / 3 - 1)}`, NOT_JSON],
  ["xml", "<!---->".repeat(FILE_BYTES / 7), "is not XML"],
])("scanning a large file of %s lets other work run in between", async (format, text, fault) => {
  const inspector = fileInspector({ scanner: null });
  const bytes = new TextEncoder().encode(text);
  let ticks = 0;
  let isDone = false;
  const ticking = (async () => {
    while (!isDone) {
      await new Promise((resolve) => setImmediate(resolve));
      ticks += 1;
    }
  })();
  const file = { filename: `a.${format}`, contentType: `application/${format}`, bytes };
  const found = await inspector.inspect(file, { archiveAttachments: false }, "owner");
  isDone = true;
  await ticking;
  expect(found).toMatchObject({ kind: "invalid", reason: `the file ${fault}` });
  expect(ticks).toBeGreaterThan(10);
});
