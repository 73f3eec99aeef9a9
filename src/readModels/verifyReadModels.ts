import type { Projection } from "../../projections/projection.ts";
import { nextTurn } from "../kernel/concurrency/sleep.ts";
import { rfc3339 } from "../kernel/time.ts";
import { LOG_START, type Position } from "../ports/eventStore.ts";
import { ReadDatabaseError, type ReadDatabaseFile } from "../ports/readDatabase.ts";
import { type Applier, createApplier } from "./applyEvents.ts";
import { compareTable, type RowDifference } from "./compareTables.ts";
import {
  type Catalog,
  type GenerationEntry,
  hasCatalog,
  openCatalog,
  type Verification,
} from "./generations/generationCatalog.ts";
import type { ReadModelStorage } from "./generations/generationFiles.ts";
import { readMeta } from "./generations/generationMeta.ts";
import { missingFile } from "./generations/missingFile.ts";
import { openCurrentToRead } from "./generations/openCurrentToRead.ts";
import { createTemporaryDatabase, temporaryPath } from "./generations/temporaryDatabase.ts";
import { type Feeding, feedWithProgress } from "./logReadProgress.ts";
import { type EventLocation, traceRowChanges } from "./traceRowChanges.ts";
import { collectDifferences, type Differences } from "./verificationFindings.ts";

/** How many rows to compare before letting other work run. */
const ROWS_PER_TURN = 10_000;

/** One row in which the live read model and the log disagree. */
export interface Difference extends RowDifference {
  readonly projection: string;
  /** The event that should have given the row its correct values, or removed it; null if there is no such event. */
  readonly event: EventLocation | null;
}

export interface VerifyOptions extends ReadModelStorage, Feeding {
  readonly projections: readonly Projection[];
  /** Called for the first hundred differences of each read model; all are counted. */
  readonly onDifference?: (difference: Difference) => void;
  /** Called now and then; the verification waits until it settles. */
  readonly rest?: () => Promise<void>;
}

/** The result of a comparison, before it is recorded. */
type VerifyResult = Omit<Verification, "finishedAt">;

interface Check {
  readonly projection: Projection;
  /** Our copy of it. */
  readonly scratch: ReadDatabaseFile;
  /** The generation opened last; undefined if there was none. */
  live: GenerationEntry | undefined;
  position: Position;
  failure: string | null;
}

/** The current generation, opened for reading; a message if there is none to compare with. */
function openLive(options: VerifyOptions, catalog: Catalog, check: Check): ReadDatabaseFile | string {
  const { projection } = check;
  try {
    const opened = openCurrentToRead(options, catalog, projection.name);
    check.live = opened?.entry;
    if (!opened) return "it has never been built";
    const { entry, db } = opened;
    const mismatch = mismatchOf(db, entry, projection, options.logId);
    if (!mismatch) return db;
    db.close();
    return mismatch;
  } catch (error) {
    if (!(error instanceof ReadDatabaseError)) throw error;
    check.live = catalog.current(projection.name);
    const missing = check.live && missingFile(options.directory, check.live);
    return missing ?? `it could not be opened: ${error.message}`;
  }
}

function mismatchOf(
  db: ReadDatabaseFile,
  entry: GenerationEntry,
  projection: Projection,
  logId: string,
): string | undefined {
  if (entry.version !== projection.version) {
    return `its rows are of version ${entry.version}, this program's projection is version ${projection.version}`;
  }
  return readMeta(db).logId === logId ? undefined : "its rows were made from another log";
}

/** Builds copies up to the positions of the live read models, all from one reading of the log. */
async function buildCopies(
  options: VerifyOptions,
  catalog: Catalog,
  checks: readonly Check[],
): Promise<void> {
  const appliers = new Map<Check, Applier>();
  for (const check of checks) {
    const live = openLive(options, catalog, check);
    if (typeof live === "string") check.failure = live;
    else {
      const limit = readMeta(live).checkpoint;
      live.close();
      appliers.set(check, createApplier(check.projection, check.scratch, check.position, limit));
    }
  }
  await feedWithProgress(options, [...appliers.values()], options.rest);
  for (const [check, applier] of appliers) {
    check.position = applier.checkpoint;
    check.failure = applier.failure?.reason ?? null;
  }
}

function resultOf(
  { projection, position }: Pick<Check, "projection" | "position">,
  failure: string | null,
): VerifyResult {
  return { name: projection.name, version: projection.version, position, rows: 0, differences: 0, failure };
}

/** Compares all tables of both sides; returns the number of rows compared. */
async function compareAll(
  options: VerifyOptions,
  projection: Projection,
  [live, rebuilt]: readonly [ReadDatabaseFile, ReadDatabaseFile],
  onDifference: (difference: RowDifference) => void,
): Promise<number> {
  let rows = 0;
  for (const table of projection.tables) {
    for (const difference of compareTable(live, rebuilt, table)) {
      rows += 1;
      if (difference) onDifference(difference);
      if (rows % ROWS_PER_TURN === 0) {
        options.signal.throwIfAborted();
        await (options.rest ?? nextTurn)();
      }
    }
  }
  return rows;
}

/** Takes a snapshot of the live side, brings our copy to its position, and compares the two row by row. */
async function firstLook(
  options: VerifyOptions,
  check: Check,
  live: ReadDatabaseFile,
  found: Differences,
): Promise<VerifyResult> {
  const { projection, scratch } = check;
  live.beginSnapshot();
  const position = readMeta(live).checkpoint;
  if (position < check.position)
    return resultOf(check, "its rows moved back in the log meanwhile: verify again");
  const applier = createApplier(projection, scratch, check.position, position);
  await feedWithProgress(options, [applier], options.rest);
  check.position = applier.checkpoint;
  if (applier.failure) return resultOf(check, applier.failure.reason);
  if (check.position < position) return resultOf(check, "its rows go further than the log");
  scratch.begin();
  const rows = await compareAll(options, projection, [live, scratch], found.add);
  scratch.commit();
  return { ...resultOf(check, null), rows, differences: found.differences };
}

/**
 * Checks the differing rows a second time. An event permits each truncation before it happens, and a reading may miss
 * the truncated events without having reached that event. So one reading brings a copy of the live rows and freshly
 * built rows to the head of the log, and shows both the same events. A row that differs again is wrong.
 */
async function secondLook(
  options: VerifyOptions,
  check: Check,
  sides: { readonly copy: ReadDatabaseFile; readonly again: ReadDatabaseFile },
  found: Differences,
): Promise<VerifyResult> {
  const { projection } = check;
  const { copy, again } = sides;
  const position = readMeta(copy).checkpoint;
  const trace = traceRowChanges(again, projection, found.shown);
  const building = createApplier(trace.projection, again, LOG_START, position);
  await feedWithProgress(options, [building], options.rest);
  if (building.failure) return resultOf(check, building.failure.reason);
  const going = [createApplier(projection, copy, position), createApplier(trace.projection, again, position)];
  await feedWithProgress(options, going, options.rest);
  const [live, rebuilt] = going;
  let differences = 0;
  const report = (difference: RowDifference) => {
    if (!found.has(difference)) return;
    differences += 1;
    const index = found.place(difference);
    if (index === -1) return;
    options.onDifference?.({ projection: projection.name, ...difference, event: trace.cause(index) });
  };
  // If an event can't be applied to the live rows because they are wrong, the copy stops before it.
  if (live?.checkpoint !== rebuilt?.checkpoint) {
    for (const difference of found.shown) report(difference);
    return { ...resultOf(check, null), differences: found.differences };
  }
  const rows = await compareAll(options, projection, [copy, again], report);
  return { ...resultOf(check, null), position: rebuilt?.checkpoint ?? position, rows, differences };
}

async function confirm(
  options: VerifyOptions,
  check: Check,
  live: ReadDatabaseFile,
  found: Differences,
): Promise<VerifyResult> {
  live.rollback();
  const path = temporaryPath(options, check.projection.name);
  using again = createTemporaryDatabase(options, check.projection);
  using afterwards = new DisposableStack();
  afterwards.defer(() => options.databases.remove(path));
  // The copy need not outlive a crash.
  live.run("PRAGMA synchronous = OFF");
  live.run("VACUUM INTO ?", path);
  using copy = options.databases.open(path, "build");
  return await secondLook(options, check, { copy, again: again.db }, found);
}

async function compare(options: VerifyOptions, catalog: Catalog, check: Check): Promise<VerifyResult> {
  if (check.failure) return resultOf(check, check.failure);
  const opened = openLive(options, catalog, check);
  if (typeof opened === "string") return resultOf(check, opened);
  using live = opened;
  try {
    const found = collectDifferences(check.scratch);
    const result = await firstLook(options, check, live, found);
    return result.differences === 0 ? result : await confirm(options, check, live, found);
  } catch (error) {
    if (!(error instanceof ReadDatabaseError)) throw error;
    return resultOf(check, `its rows could not be read: ${error.message}`);
  }
}

/**
 * Builds temporary copies of the read models from the log and compares each with the live one, row by row, at the same
 * position. A second reading checks every difference. Only records its result in the catalog, and works beside a
 * running service. Rejects when the store does, or with the signal's reason; faults of a read model are in its result.
 */
export async function verifyReadModels(options: VerifyOptions): Promise<readonly VerifyResult[]> {
  options.signal.throwIfAborted();
  if (!hasCatalog(options.directory)) {
    return options.projections.map((projection) =>
      resultOf({ projection, position: LOG_START }, "it has never been built"),
    );
  }
  using catalog = openCatalog(options.databases, options.directory);
  using scratches = new DisposableStack();
  const checks = options.projections.map((projection): Check => {
    const { db: scratch } = scratches.use(createTemporaryDatabase(options, projection));
    return { projection, scratch, live: undefined, position: LOG_START, failure: null };
  });
  await buildCopies(options, catalog, checks);
  const results: VerifyResult[] = [];
  for (const check of checks) {
    const result = await compare(options, catalog, check);
    results.push(result);
    catalog.noteVerification(check.live, { ...result, finishedAt: rfc3339(Date.now()) });
  }
  return results;
}
