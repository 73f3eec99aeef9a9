import { expect, test } from "bun:test";
import { runFailedAgain, SECOND_RUNS_MAX } from "./secondRuns.ts";
import { type FileRun, sumUp } from "./testReport.ts";

function fileRun(file: string, ending: "passed" | "failed"): FileRun {
  return {
    file,
    seconds: 1,
    cpuSeconds: 1,
    cases: [{ suite: "", name: "a test", ending }],
    fault: null,
    output: "",
  };
}

/** A first run in which these files fail; in the second, those of `steady` pass. Answers which ran again as well. */
async function runAgain(failed: readonly string[], steady: readonly string[] = []) {
  const again: string[] = [];
  const first = [fileRun("test/fine.test.ts", "passed"), ...failed.map((file) => fileRun(file, "failed"))];
  const { runs, unsteady } = await runFailedAgain(first, async (file) => {
    again.push(file);
    return fileRun(file, steady.includes(file) ? "passed" : "failed");
  });
  return { again, failures: sumUp(runs).failures, unsteady: unsteady.map(({ file }) => file) };
}

const [A, B] = ["test/http/a.test.ts", "test/http/b.test.ts"] as const;

test("a file that failed runs again: it stays failed, or is unsteady", async () => {
  expect(await runAgain([A, B], [B])).toEqual({
    again: [A, B],
    failures: [`${A}: a test`],
    unsteady: [B],
  });
});

test("nothing runs again where nothing failed, and a file that crashed does", async () => {
  expect((await runAgain([])).again).toEqual([]);
  const crashed = { ...fileRun(A, "passed"), fault: "crashed: ended by SIGSEGV" };
  const { runs, unsteady } = await runFailedAgain([crashed], async (file) => fileRun(file, "passed"));
  expect(sumUp(runs).failed).toBe(0);
  expect(unsteady).toEqual([crashed]);
});

test.each(["faults", "fuzz", "security"])("a failure in test/%s stays one", async (folder) => {
  const file = `test/${folder}/a.test.ts`;
  expect(await runAgain([file], [file])).toEqual({ again: [], failures: [`${file}: a test`], unsteady: [] });
});

test("many failures are no bad luck", async () => {
  const many = Array.from({ length: SECOND_RUNS_MAX + 1 }, (_, n) => `test/http/${n}.test.ts`);
  const { again, failures } = await runAgain(many, many);
  expect(again).toEqual([]);
  expect(failures).toHaveLength(many.length);
});
