import { afterAll, expect, test } from "bun:test";
import { JobStarvedError, jobThread } from "../../src/kernel/concurrency/jobThread.ts";
import { nextTurn } from "../../src/kernel/concurrency/sleep.ts";

const KERNEL = new URL("../../src/kernel/concurrency/serveJobs.ts", import.meta.url).pathname;

/** Jobs are ms to pass: on the processor or asleep. */
function script(startMs = 0): string {
  const source = `import { serveJobs } from ${JSON.stringify(KERNEL)};
    const work = (ms) => { for (const until = performance.now() + ms; performance.now() < until; ); };
    work(${startMs});
    serveJobs(({ sleepMs = 0, workMs = 0 }) => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, sleepMs);
      work(workMs);
      return "done";
    });`;
  return URL.createObjectURL(new Blob([source]));
}

type Job = { readonly sleepMs?: number; readonly workMs?: number };

function thread(msMax: number, startMs?: number) {
  const made = jobThread<Job, string>(script(startMs), { msMax, tooLong: "too long" });
  afterAll(() => made.close());
  return made;
}

test("a job that works too long is given up, and another thread takes the next", async () => {
  const { run } = thread(500);
  const [first, second] = [run({ workMs: 1e9 }, "a"), run({}, "a")];
  expect(await first).toBe("too long");
  expect(await second).toBe("done");
});

test("time in which the process does not run is not held against a job", async () => {
  const { run } = thread(500);
  expect(await run({ sleepMs: 1_500 }, "a")).toBe("done");
});

test("nor is what the calling thread works meanwhile", async () => {
  const { run } = thread(500);
  const startedAt = performance.now();
  const job = run({ sleepMs: 1_500 }, "a");
  while (performance.now() < startedAt + 1_400) {
    for (const until = performance.now() + 20; performance.now() < until; );
    await nextTurn();
  }
  expect(await job).toBe("done");
});

test("nor is what the thread takes to start", async () => {
  const { run } = thread(500, 1_500);
  expect(await run({}, "a")).toBe("done");
});

test("a job that never ends without working is given up, too, as one that did not get its time", async () => {
  const { run } = thread(100);
  await expect(run({ sleepMs: 1e9 }, "a")).rejects.toThrow(JobStarvedError);
  expect(await run({}, "a")).toBe("done");
});

test("a job that nobody waits for any more is not run", async () => {
  const { run } = thread(10_000);
  const first = run({}, "a");
  let isAbandoned = false;
  const second = run({ workMs: 1e9 }, "a", () => isAbandoned);
  isAbandoned = true;
  expect(await first).toBe("done");
  expect(await second.catch(({ message }) => message)).toBe("the job was abandoned");
  expect(await run({}, "a")).toBe("done");
});

test("owners take turns", async () => {
  const { run } = thread(10_000);
  const ended: string[] = [];
  const note = (name: string) => run({}, name.slice(0, 1)).then(() => void ended.push(name));
  await Promise.all(["a1", "a2", "a3", "b1"].map(note));
  expect(ended).toEqual(["a1", "a2", "b1", "a3"]);
});
