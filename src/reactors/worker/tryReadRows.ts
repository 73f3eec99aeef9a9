import { ReadDatabaseError } from "../../ports/readDatabase.ts";

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
