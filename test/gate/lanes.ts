/** One of the lanes in which test files run side by side, numbered from 0. */
export type Lane = number;

/** Which items may run in which lane. */
export type MayRun<Item> = (item: Item, lane: Lane) => boolean;

/**
 * Runs every item (a test file, or several) in one of `lanes` lanes. A lane that is free takes the first item that is
 * left and that it may run, so what takes long belongs at the front of the list. Throws when an item may run in no lane.
 */
export async function runInLanes<Item>(
  items: readonly Item[],
  lanes: number,
  run: (item: Item, lane: Lane) => Promise<void>,
  mayRun: MayRun<Item> = () => true,
): Promise<void> {
  const left = [...items];
  const work = async (lane: Lane): Promise<void> => {
    for (;;) {
      const at = left.findIndex((item) => mayRun(item, lane));
      const [item] = at < 0 ? [] : left.splice(at, 1);
      if (item === undefined) return;
      await run(item, lane);
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, lane) => work(lane)));
  if (left.length > 0) throw new Error(`no lane may run ${left.join(", ")}`);
}
