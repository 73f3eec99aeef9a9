import type { FileRun } from "./testReport.ts";

/** Where more files fail, it is not the machine's fault. */
export const SECOND_RUNS_MAX = 3;

/** Their tests look for what goes wrong once in many runs, so none of their failures is put down to a busy machine. */
const ONCE_FOLDERS: readonly string[] = ["test/faults/", "test/fuzz/", "test/security/"];

/** Whether a file counts as failed. */
export function hasFailed({ cases, fault }: FileRun): boolean {
  return fault !== null || cases.some(({ ending }) => ending === "failed");
}

export interface SecondRuns {
  /** The last run of each file. */
  readonly runs: readonly FileRun[];
  /** First runs that failed, of files that passed when nothing ran beside them. */
  readonly unsteady: readonly FileRun[];
}

/**
 * Runs the files that failed beside others once more, one by one: what fails then is broken, what passes is
 * unsteady and is to be mended too. Nothing runs again where more than {@link SECOND_RUNS_MAX} files failed.
 */
export async function runFailedAgain(
  first: readonly FileRun[],
  run: (file: string) => Promise<FileRun>,
): Promise<SecondRuns> {
  const failed = first.filter(hasFailed);
  if (failed.length > SECOND_RUNS_MAX) return { runs: first, unsteady: [] };
  const second = new Map<string, FileRun>();
  for (const { file } of failed)
    if (!ONCE_FOLDERS.some((folder) => file.startsWith(folder))) second.set(file, await run(file));
  const runs = first.map((one) => second.get(one.file) ?? one);
  const broken = new Set(runs.filter(hasFailed).map(({ file }) => file));
  return { runs, unsteady: failed.filter(({ file }) => !broken.has(file)) };
}
