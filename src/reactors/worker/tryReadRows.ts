import { type ReadDatabase, ReadDatabaseError } from "../../ports/readDatabase.ts";

/** Reads one read model, as {@link tryReadRows} does. */
export type ReadRows = <Result>(query: (db: ReadDatabase) => Result) => Result | null;

export function rowReader(db: ReadDatabase, onTrouble: (error: unknown, id: string) => void): ReadRows {
  return (query) => tryReadRows(() => query(db), onTrouble);
}

/** The result of a query; null while the read model is unavailable or damaged, which its follower repairs. */
export function tryReadRows<Result>(
  query: () => Result,
  onTrouble: (error: unknown, id: string) => void,
): Result | null {
  try {
    return query();
  } catch (error) {
    if (!(error instanceof ReadDatabaseError)) throw error;
    if (error.failure !== "unavailable") onTrouble(error, "");
    return null;
  }
}
