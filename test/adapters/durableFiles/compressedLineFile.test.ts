import { expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readLines, writeCompressedFile } from "../../../src/adapters/durableFiles/compressedLineFile.ts";
import { StoreError } from "../../../src/ports/eventStore.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";

/** How often a fault is provoked: an `error` event that nobody handles may come after the error that is thrown. */
const TRIES = 20;

const folder = temporaryFolder();

async function linesOf(path: string): Promise<readonly string[]> {
  return (await Array.fromAsync(readLines(path))).flat();
}

test("lines are read from a compressed file and from a plain one, without one that is cut off", async () => {
  const [compressed, plain] = [join(folder, "lines.zst"), join(folder, "lines")];
  await writeCompressedFile(
    compressed,
    (async function* () {
      yield "one\ntwo\nthr";
    })(),
  );
  await writeFile(plain, "one\ntwo\nthr");
  for (const path of [compressed, plain]) expect(await linesOf(path)).toEqual(["one", "two"]);
});

test.each([
  ["is missing", "missing", "there is no file"],
  ["is a folder", ".", "cannot be read"],
])("a file that %s is unavailable, and ends nothing else", async (_, name, message) => {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const error = await linesOf(join(folder, name)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StoreError);
    expect(String(error)).toContain(message);
  }
});
