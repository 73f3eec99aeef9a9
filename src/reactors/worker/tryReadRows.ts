import { ReadDatabaseError } from "../../ports/readDatabase.ts";

/** What a query of a read model finds; null while that cannot be read, or is damaged: its follower mends it. */
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
