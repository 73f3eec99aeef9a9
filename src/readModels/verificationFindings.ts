import type { ReadDatabaseFile } from "../ports/readDatabase.ts";
import type { RowDifference } from "./compareTables.ts";

/** Differences of one read model that are reported one by one; all are counted. */
const SHOWN_MAX = 100;

/** Which rows of a read model were found to differ. */
export interface Differences {
  readonly shown: readonly RowDifference[];
  readonly differences: number;
  add(difference: RowDifference): void;
  has(difference: RowDifference): boolean;
  /** The index of the same row among those shown; -1 when it is not one of them. */
  place(difference: RowDifference): number;
}

/** Notes what is found in a table of its own: it may be as many as there are rows. */
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
