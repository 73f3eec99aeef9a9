import { join } from "node:path";
import type { Projection } from "../../projections/projection.ts";
import { type EventStore, LOG_START, type Position } from "../ports/eventStore.ts";
import { ReadDatabaseError, type ReadDatabaseFile } from "../ports/readDatabase.ts";
import { type Applier, breathe, feedToHead, makeApplier } from "./applier.ts";
import { type Catalog, type GenerationEntry, hasCatalog, openCatalog } from "./catalog.ts";
import { compareTable, type RowDifference } from "./compare.ts";
import { createTables, type ReadModelPlace, readMeta } from "./generation.ts";
import { meter, type ReadingProgress } from "./rebuild.ts";

/** How long to wait for a running service to apply what the log held when the reading ended. */
const LIVE_WAIT_MS_MAX = 5_000;
const LIVE_POLL_MS = 50;
/** A switch between our look at the catalog and our opening of the file makes us look again. */
const OPEN_ATTEMPTS_MAX = 5;
/** After so many rows other work gets its turn. */
const ROWS_PER_TURN = 10_000;

/** One row in which the live read model and the log disagree. */
export interface Difference extends RowDifference {
  readonly projection: string;
}

export interface VerifyOptions extends ReadModelPlace {
  readonly store: EventStore;
  readonly projections: readonly Projection[];
  /** Whether this process owns the directory: else a running service is given time to come level. */
  readonly owner: boolean;
  readonly onDifference?: (difference: Difference) => void;
  readonly onProgress?: (progress: ReadingProgress) => void;
  readonly signal: AbortSignal;
}

export interface VerifyResult {
  readonly name: string;
  readonly version: number;
  /** Where in the log the two sides were compared. */
  readonly position: Position;
  /** Rows looked at: a row that both sides have counts once. */
  readonly rows: number;
  readonly differences: number;
  /** Why they could not be compared; null when they were. */
  readonly failure: string | null;
}

interface Check {
  readonly projection: Projection;
  readonly path: string;
  readonly db: ReadDatabaseFile;
  position: Position;
  failure: string | null;
}

/** The current generation, opened for reading; a message where there is none to compare with. */
function openLive(
  options: VerifyOptions,
  catalog: Catalog,
  projection: Projection,
): ReadDatabaseFile | string {
  for (let attempt = 1; ; attempt += 1) {
    const entry = catalog.current(projection.name);
    if (!entry) return "it has never been built";
    try {
      const db = options.databases.open(join(options.directory, entry.file), "read");
      const misfit = misfitOf(db, entry, projection, options.logId);
      if (!misfit) return db;
      db.close();
      return misfit;
    } catch (error) {
      if (!(error instanceof ReadDatabaseError)) throw error;
      if (attempt >= OPEN_ATTEMPTS_MAX) return `it could not be opened: ${error.message}`;
    }
  }
}

function misfitOf(
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

/** Runs `work` with the live database, which is closed afterwards. A failure is noted in the check. */
function withLive<Result>(
  options: VerifyOptions,
  catalog: Catalog,
  check: Check,
  work: (live: ReadDatabaseFile) => Result,
): Result | undefined {
  const live = openLive(options, catalog, check.projection);
  if (typeof live === "string") {
    check.failure = live;
    return undefined;
  }
  try {
    return work(live);
  } finally {
    live.close();
  }
}

function startCheck(options: VerifyOptions, projection: Projection): Check {
  const path = join(options.directory, `verify-${projection.name}-${crypto.randomUUID()}.db`);
  const db = options.databases.open(path, "build");
  try {
    createTables(db, projection, options.logId);
  } catch (error) {
    db.close();
    options.databases.remove(path);
    throw error;
  }
  return { projection, path, db, position: LOG_START, failure: null };
}

function failureOf({ failure }: Applier): string | null {
  return failure?.reason ?? null;
}

/** Builds aside to where the live ones stand now, all from one reading of the log. */
async function buildAside(options: VerifyOptions, catalog: Catalog, checks: readonly Check[]): Promise<void> {
  const appliers = new Map<Check, Applier>();
  for (const check of checks) {
    const limit = withLive(options, catalog, check, (live) => readMeta(live).checkpoint);
    if (limit !== undefined) {
      appliers.set(check, makeApplier(check.projection, check.db, check.position, limit));
    }
  }
  const note = meter(await options.store.head(), options.onProgress);
  const all = [...appliers.values()];
  for await (const events of feedToHead(options.store, all)) {
    options.signal.throwIfAborted();
    note(
      events,
      all
        .map(({ position }) => position)
        .sort()
        .at(-1) ?? LOG_START,
    );
  }
  for (const [check, applier] of appliers) {
    check.position = applier.checkpoint;
    check.failure = failureOf(applier);
  }
}

/**
 * What is truncated in the log was let go of by an event before that. Our reading didn't see the truncated
 * events any more, so the live side must have come past the event that let them go.
 */
async function awaitLive(options: VerifyOptions, catalog: Catalog, checks: readonly Check[]): Promise<void> {
  const head = await options.store.head();
  const deadline = Date.now() + (options.owner ? 0 : LIVE_WAIT_MS_MAX);
  for (const check of checks) {
    while (!check.failure && Date.now() < deadline && !options.signal.aborted) {
      const checkpoint = withLive(options, catalog, check, (live) => readMeta(live).checkpoint);
      if (checkpoint === undefined || checkpoint >= head) break;
      await Bun.sleep(LIVE_POLL_MS);
    }
  }
}

/** Takes a snapshot of the live side, brings ours level with it, and compares the two row by row. */
async function compareAtSnapshot(
  options: VerifyOptions,
  check: Check,
  live: ReadDatabaseFile,
): Promise<VerifyResult> {
  const { projection, db } = check;
  live.beginSnapshot();
  const position = readMeta(live).checkpoint;
  if (position < check.position)
    return resultOf(check, "its rows went back in the log meanwhile: verify again");
  const applier = makeApplier(projection, db, check.position, position);
  for await (const _ of feedToHead(options.store, [applier])) options.signal.throwIfAborted();
  check.position = applier.checkpoint;
  if (applier.failure) return resultOf(check, applier.failure.reason);
  if (check.position < position) return resultOf(check, "its rows go further than the log");
  let rows = 0;
  let differences = 0;
  for (const table of projection.tables) {
    for (const difference of compareTable(live, db, table)) {
      rows += 1;
      if (difference) {
        differences += 1;
        options.onDifference?.({ projection: projection.name, ...difference });
      }
      if (rows % ROWS_PER_TURN === 0) {
        options.signal.throwIfAborted();
        await breathe();
      }
    }
  }
  return { ...resultOf(check, null), rows, differences };
}

function resultOf({ projection, position }: Check, failure: string | null): VerifyResult {
  return { name: projection.name, version: projection.version, position, rows: 0, differences: 0, failure };
}

async function compare(options: VerifyOptions, catalog: Catalog, check: Check): Promise<VerifyResult> {
  if (check.failure) return resultOf(check, check.failure);
  const live = openLive(options, catalog, check.projection);
  if (typeof live === "string") return resultOf(check, live);
  try {
    return await compareAtSnapshot(options, check, live);
  } catch (error) {
    if (!(error instanceof ReadDatabaseError)) throw error;
    return resultOf(check, `its rows could not be read: ${error.message}`);
  } finally {
    live.close();
  }
}

/**
 * Builds the read models aside from the log and compares them with the live ones, row by row, each at one
 * position. Changes nothing and works beside a running service. Rejects when the store does, or with the
 * signal's reason; whatever is wrong with one read model stands in its result.
 */
export async function verifyReadModels(options: VerifyOptions): Promise<readonly VerifyResult[]> {
  options.signal.throwIfAborted();
  if (!hasCatalog(options.directory)) {
    return options.projections.map(({ name, version }) => {
      const failure = "it has never been built";
      return { name, version, position: LOG_START, rows: 0, differences: 0, failure };
    });
  }
  const catalog = openCatalog(options.databases, options.directory);
  const checks: Check[] = [];
  try {
    for (const projection of options.projections) checks.push(startCheck(options, projection));
    await buildAside(options, catalog, checks);
    await awaitLive(options, catalog, checks);
    const results: VerifyResult[] = [];
    for (const check of checks) results.push(await compare(options, catalog, check));
    return results;
  } finally {
    for (const { db, path } of checks) {
      db.close();
      options.databases.remove(path);
    }
    catalog.close();
  }
}
