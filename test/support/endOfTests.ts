import { afterAll } from "bun:test";

const ends: (() => unknown)[] = [];

/** Calls `end` when all test files of this process have run. Bun ends it without telling `process.on("exit")`. */
export function atEndOfTests(end: () => unknown): void {
  ends.push(end);
}

/** Loaded before the first test file, this is of no file: it comes after the last one. */
afterAll(async () => {
  for (const end of ends) await end();
});
