import type { ReadDatabase } from "../ports/readDatabase.ts";
import { Problem } from "./problem.ts";

/** How long a list waits for its read model to hold what was written before it was asked for. */
const CURRENT_WAIT_MS = 1_000;

/** A read model as a list asks it. */
export interface ReadModel {
  readonly db: ReadDatabase;
  /** Waits until the rows hold the log up to where it is now; false after `timeoutMs`. */
  readonly whenCurrent: (timeoutMs: number) => Promise<boolean>;
}

/** The rows, holding everything that was written before the call through any instance; else 503. */
export async function currentRows({ db, whenCurrent }: ReadModel): Promise<ReadDatabase> {
  if (await whenCurrent(CURRENT_WAIT_MS)) return db;
  throw new Problem("INTERNAL_ERROR", { unavailable: true, detail: "the list is not up to date yet" });
}
