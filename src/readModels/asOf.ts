import type { Projection } from "../../projections/projection.ts";
import { type EpochMs, epochMs } from "../kernel/time.ts";
import { LOG_START } from "../ports/eventStore.ts";
import type { ReadDatabaseFile } from "../ports/readDatabase.ts";
import { createApplier } from "./applyEvents.ts";
import { compareTable, type RowDifference } from "./compareTables.ts";
import type { ReadModelStorage } from "./generations/generationFiles.ts";
import { createTemporaryDatabase } from "./generations/temporaryDatabase.ts";
import { type Feeding, feedWithProgress } from "./logReadProgress.ts";

export interface AsOfOptions extends ReadModelStorage, Feeding {
  readonly projection: Projection;
}

/** A read model as it was at a time. It exists only while the caller's `work` runs. */
export interface PastReadModel {
  readonly projection: Projection;
  readonly db: ReadDatabaseFile;
}

/**
 * The read model as of `at`: it applies each stream's events, in log order, up to the first whose own time is later.
 * So a stream never has a gap, even if the clocks of instances disagree. Erased data is no longer in the log, and was
 * never in a row.
 */
function upTo(projection: Projection, at: EpochMs): Projection {
  let hasLate = false;
  return {
    ...projection,
    apply(event, db) {
      const { stream, metadata } = event;
      if (epochMs(String(metadata.at)) > at) {
        db.run("INSERT OR IGNORE INTO late VALUES (?)", stream);
        hasLate = true;
      } else if (!hasLate || db.get("SELECT 1 FROM late WHERE stream = ?", stream) === undefined) {
        projection.apply(event, db);
      }
    },
  };
}

/**
 * Builds a read model as it was at each of the times in temporary databases, from one reading of the log, and removes
 * them after `work`. Throws {@link AsOfError} when an event cannot be applied. Rejects when the store does, or with the
 * signal's reason.
 */
export async function withReadModelAsOf<Result>(
  options: AsOfOptions,
  times: readonly EpochMs[],
  work: (pasts: readonly PastReadModel[]) => Promise<Result>,
): Promise<Result> {
  const { projection } = options;
  using scratches = new DisposableStack();
  const appliers = times.map((at) => {
    const { db } = scratches.use(createTemporaryDatabase(options, projection));
    // On disk, because it holds most streams of the log when the time is long ago.
    db.run("CREATE TABLE late (stream TEXT PRIMARY KEY) WITHOUT ROWID");
    return createApplier(upTo(projection, at), db, LOG_START);
  });
  await feedWithProgress(options, appliers);
  for (const { failure } of appliers) if (failure) throw new AsOfError(failure.reason);
  return await work(appliers.map(({ db }) => ({ projection, db })));
}

/** The read model can't be built. The message names the event but none of its data. */
export class AsOfError extends Error {
  override readonly name = "AsOfError";
}

/** A row that differs between the two times. */
export interface Change {
  readonly table: string;
  readonly change: "added" | "removed" | "changed";
  readonly key: RowDifference["key"];
  readonly before: RowDifference["live"];
  readonly after: RowDifference["rebuilt"];
  /** The columns that changed, if the row existed at both times. */
  readonly columns: readonly string[];
}

/** The changes from one time to the other, table by table in key order. Holds one row at a time. */
export function* changesBetween(from: PastReadModel, to: PastReadModel): Iterable<Change> {
  for (const table of from.projection.tables) {
    for (const difference of compareTable(from.db, to.db, table)) {
      if (!difference) continue;
      const { key, live: before, rebuilt: after, columns } = difference;
      const change = before === null ? "added" : after === null ? "removed" : "changed";
      yield { table: table.name, change, key, before, after, columns };
    }
  }
}
