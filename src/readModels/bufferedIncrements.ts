import type { ProjectedRows, SqlValue } from "../ports/readDatabase.ts";

interface Sum {
  readonly key: readonly SqlValue[];
  readonly amounts: number[];
}

/** Never occurs in a key's values. */
const SEPARATOR = "\0";

/**
 * The amounts that one transaction adds to sums. Nearly every event adds to the same few rows, so each row is written
 * once per transaction instead of once per event.
 */
export class BufferedIncrements {
  private readonly sums = new Map<string, Map<string, Sum>>();

  add(sql: string, key: readonly SqlValue[], amounts: readonly number[]): void {
    const sums = this.sums.getOrInsertComputed(sql, () => new Map());
    const name = key.join(SEPARATOR);
    const sum = sums.get(name);
    if (sum === undefined) sums.set(name, { key, amounts: [...amounts] });
    else
      amounts.forEach((amount, index) => {
        sum.amounts[index] = (sum.amounts[index] ?? 0) + amount;
      });
  }

  /** Writes all sums, in the order of their first addition, and clears the buffer. */
  writeTo(db: Pick<ProjectedRows, "add">): void {
    for (const [sql, sums] of this.sums) {
      for (const { key, amounts } of sums.values()) db.add(sql, key, amounts);
    }
    this.clear();
  }

  clear(): void {
    this.sums.clear();
  }
}
