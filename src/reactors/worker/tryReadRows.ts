import { type ReadDatabase, ReadDatabaseError } from "../../ports/readDatabase.ts";

/** Reads one read model; null while it is unavailable or damaged. */
export type ReadRows = <Result>(query: (db: ReadDatabase) => Result) => Result | null;

/** The result of a query; null while the read model is unavailable or damaged, which its follower repairs. */
export function tryReadRows<Result>(
  query: () => Result,
  onTrouble: (error: unknown, stream: string) => void,
): Result | null {
  try {
    return query();
  } catch (error) {
    if (!(error instanceof ReadDatabaseError)) throw error;
    if (error.failure !== "unavailable") onTrouble(error, "");
    return null;
  }
}
