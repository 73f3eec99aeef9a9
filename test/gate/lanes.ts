/** One of the lanes that run test files side by side, numbered from 0. */
export type Lane = number;

/** Which files may run in which lane. */
export type MayRun = (file: string, lane: Lane) => boolean;

/**
 * Runs every file in one of `lanes` lanes. A lane that is free takes the first file that is left and that it
 * may run, so files that take long belong at the front of the list. Throws when a file may run in no lane.
 */
export async function runInLanes(
  files: readonly string[],
  lanes: number,
  run: (file: string, lane: Lane) => Promise<void>,
  mayRun: MayRun = () => true,
): Promise<void> {
  const left = [...files];
  const work = async (lane: Lane): Promise<void> => {
    for (;;) {
      const at = left.findIndex((file) => mayRun(file, lane));
      const [file] = at < 0 ? [] : left.splice(at, 1);
      if (file === undefined) return;
      await run(file, lane);
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, lane) => work(lane)));
  if (left.length > 0) throw new Error(`no lane may run ${left.join(", ")}`);
}
