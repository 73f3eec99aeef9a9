import { afterAll } from "bun:test";

const ends: (() => unknown)[] = [];

/** Calls `end` when all test files of this process have run. Bun ends it without telling `process.on("exit")`. */
export function atEndOfTests(end: () => unknown): void {
  ends.push(end);
}

const END_MS_MAX = 60_000;

/** Loaded before the first test file, this is of no file: it comes after the last one. */
afterAll(async () => {
  const results = await Promise.allSettled(ends.map((end) => Promise.try(end)));
  for (const result of results) if (result.status === "rejected") throw result.reason;
}, END_MS_MAX);
