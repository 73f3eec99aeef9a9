/** How many letters may differ between a name and the one that was meant. */
const EDITS_MAX = 2;

/** The name most likely meant by `given`: the one with the fewest different letters; null if none is close. */
export function nearestName(given: string, names: readonly string[]): string | null {
  let nearest: string | null = null;
  // At most half of a short word may differ; otherwise any name would be close.
  let least = Math.min(EDITS_MAX, Math.floor(given.length / 2)) + 1;
  for (const name of names) {
    if (Math.abs(given.length - name.length) >= least) continue;
    const edits = editsBetween(given.toLowerCase(), name.toLowerCase());
    if (edits >= least) continue;
    nearest = name;
    least = edits;
  }
  return nearest;
}

/** How many letters must be inserted, deleted or replaced to turn one word into the other (Levenshtein distance). */
function editsBetween(one: string, other: string): number {
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [row, letter] of [...one].entries()) {
    const next = [row + 1];
    for (let column = 1; column <= other.length; column += 1) {
      const replaced = (last[column - 1] ?? 0) + (letter === other[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (last[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    last = next;
  }
  return last[other.length] ?? 0;
}
