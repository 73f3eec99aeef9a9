import type { ReadDatabaseFile } from "../ports/readDatabase.ts";
import type { RowDifference } from "./compareTables.ts";

/** How many differences of one read model are reported one by one; all are counted. */
const SHOWN_MAX = 100;

/** Which rows of a read model were found to differ. */
export interface Differences {
  readonly shown: readonly RowDifference[];
  readonly differences: number;
  add(difference: RowDifference): void;
  has(difference: RowDifference): boolean;
  /** The index of the same row in `shown`; -1 if it is not there. */
  place(difference: RowDifference): number;
}

/** Keeps the findings in a table, because there may be as many as there are rows. */
export function collectDifferences(db: ReadDatabaseFile): Differences {
  db.run("CREATE TABLE found (key TEXT PRIMARY KEY)");
  const shown: RowDifference[] = [];
  const index = new Map<string, number>();
  let differences = 0;
  return {
    shown,
    get differences() {
      return differences;
    },
    add(difference) {
      const key = keyText(difference);
      differences += 1;
      if (shown.length < SHOWN_MAX) index.set(key, shown.push(difference) - 1);
      db.run("INSERT INTO found VALUES (?)", key);
    },
    has: (difference) => db.get("SELECT 1 FROM found WHERE key = ?", keyText(difference)) !== undefined,
    place: (difference) => index.get(keyText(difference)) ?? -1,
  };
}

function keyText({ table, key }: RowDifference): string {
  const parts = key.map((value) => (value instanceof Uint8Array ? [value.toHex()] : value));
  return JSON.stringify([table, ...parts]);
}
