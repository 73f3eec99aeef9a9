import { expect, test } from "bun:test";
import fc from "fast-check";
import { boundedLines } from "../../../src/adapters/durableFiles/boundedLines.ts";

const LINE_BYTES_MAX = 10;

async function* chunksOf(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

test("lines are the same however their bytes arrive, and one that is too long is null", () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: fc.constantFrom("a", "ä", "€", "\r"), maxLength: 12 })),
      fc.integer({ min: 1, max: 30 }),
      fc.boolean(),
      async (lines, size, isLastWhole) => {
        const bytes = Buffer.from(lines.join("\n"));
        const pages = await Array.fromAsync(boundedLines(chunksOf(bytes, size), LINE_BYTES_MAX, isLastWhole));
        const last = lines.at(-1) ?? "";
        // One that is too long is known before its end.
        const isLastRead = last !== "" && (isLastWhole || Buffer.byteLength(last) > LINE_BYTES_MAX);
        const read = isLastRead ? lines : lines.slice(0, -1);
        expect(pages.flat()).toEqual(
          read.map((line) => (Buffer.byteLength(line) > LINE_BYTES_MAX ? null : line)),
        );
      },
    ),
  ));

test("a line without an end is refused before the stream ends", async () => {
  async function* endless() {
    for (;;) yield Buffer.from("a".repeat(LINE_BYTES_MAX));
  }
  for await (const page of boundedLines(endless(), LINE_BYTES_MAX, true)) {
    expect(page).toEqual([null]);
    break;
  }
});
