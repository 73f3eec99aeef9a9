/** Runs `work` for each item, at most `concurrencyMax` at once. Returns how many of them it was true for. */
export async function forEachConcurrently<Item>(
  items: Iterable<Item>,
  concurrencyMax: number,
  work: (item: Item) => Promise<boolean>,
): Promise<number> {
  const remaining = items[Symbol.iterator]();
  let count = 0;
  const worker = async () => {
    for (let next = remaining.next(); !next.done; next = remaining.next()) {
      if (await work(next.value)) count += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrencyMax }, worker));
  return count;
}
