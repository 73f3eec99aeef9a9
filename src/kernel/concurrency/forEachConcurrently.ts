/**
 * Runs `work` for each item, at most `concurrencyMax` at once. Returns how many of them it was true for. Begins nothing
 * more after a failure, and throws the first one once what is under way has ended.
 */
export async function forEachConcurrently<Item>(
  items: Iterable<Item>,
  concurrencyMax: number,
  work: (item: Item) => Promise<boolean>,
): Promise<number> {
  const remaining = items[Symbol.iterator]();
  const failures: unknown[] = [];
  let count = 0;
  const worker = async () => {
    try {
      for (let next = remaining.next(); !next.done && failures.length === 0; next = remaining.next())
        if (await work(next.value)) count += 1;
    } catch (error) {
      failures.push(error);
    }
  };
  await Promise.all(Array.from({ length: concurrencyMax }, worker));
  if (failures.length > 0) throw failures[0];
  return count;
}
