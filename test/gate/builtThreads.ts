import { readFileSync } from "node:fs";

/**
 * Names the list of built threads, JSON of the URL of each thread's source and the file that was built of it. Without it
 * services that run in a test's own process start their threads from the source.
 */
export const THREADS_VARIABLE = "TEST_THREADS";

/** Loaded before a test file, this starts threads that are in the list from what was built of them. */
const list = process.env[THREADS_VARIABLE];
if (list !== undefined) {
  const built = new Map<string, string>(Object.entries(JSON.parse(readFileSync(list, "utf8"))));
  globalThis.Worker = new Proxy(Worker, {
    // A test may have made a class of its own from it.
    construct: (Thread, [url, ...rest], made) =>
      Reflect.construct(Thread, [built.get(String(url)) ?? url, ...rest], made),
  });
}
