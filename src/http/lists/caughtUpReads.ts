import type { KeysetCursor, PageQuery, RowPage } from "../../../projections/keysetPagination.ts";
import type { ReadModelName } from "../../../projections/readModelName.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { type Problem, unavailable } from "../server/problem.ts";
import { encodeCursor, type Page, pageOf } from "./cursorPaging.ts";
import type { ReadScheduler } from "./readScheduler.ts";

/**
 * How long an answer waits for its read model to hold what was written before the request. On a busy machine that
 * takes seconds, but a slow answer is better than one that has to be requested again.
 */
export const CAUGHT_UP_WAIT_MS_MAX = 5_000;
/** How long to wait if the rows are used even when they lag. */
const IF_IN_TIME_WAIT_MS_MAX = 1_000;

/** A read model, as lists use it. */
export interface ReadModel {
  readonly db: ReadDatabase;
  /** Waits until the rows have caught up with the log as of now; false after `timeoutMs`. */
  readonly whenCaughtUp: (timeoutMs: number) => Promise<boolean>;
  /** Shared by all read models. */
  readonly scheduler: ReadScheduler;
}

/** What lists are read from: rows say which items exist, streams say what they contain. */
export interface ListSource {
  readonly deps: Dependencies;
  readonly readModel: (name: ReadModelName) => ReadModel;
}

/** The rows for one query, holding everything written through any instance before the call; else 503. */
export async function caughtUpRows(model: ReadModel): Promise<ReadDatabase> {
  await whenCaughtUp(model);
  await model.scheduler.nextRead();
  return model.db;
}

/**
 * Waits briefly for the rows to catch up, and goes on in any case. Used after a change, so the next list shows it,
 * and before the list of messages, which never stands still.
 */
export async function catchUpIfInTime(model: ReadModel): Promise<void> {
  await model.whenCaughtUp(IF_IN_TIME_WAIT_MS_MAX);
}

/**
 * The rows after {@link catchUpIfInTime}, for limits: exceeding one slightly does less harm than a 503 to a caller
 * who changes something else.
 */
export async function caughtUpRowsIfInTime(model: ReadModel): Promise<ReadDatabase> {
  await catchUpIfInTime(model);
  await model.scheduler.nextRead();
  return model.db;
}

/** A page of a list, holding everything written through any instance before the call; else 503. */
export async function caughtUpPage<Query extends PageQuery, Row extends KeysetCursor>(
  model: ReadModel,
  query: Query,
  list: (db: ReadDatabase, query: Query) => readonly Row[],
): Promise<Page<Row>> {
  const db = await caughtUpRows(model);
  return pageOf(query, (page) => list(db, page));
}

/** Waits until the rows hold everything written through any instance before the call; else 503. */
export async function whenCaughtUp(model: ReadModel): Promise<void> {
  if (await model.whenCaughtUp(CAUGHT_UP_WAIT_MS_MAX)) return;
  throw notUpToDate();
}

/** The answer when a list is not up to date. */
export function notUpToDate(): Problem {
  return unavailable("the list is not up to date yet");
}

/** A page with what `look` finds for each row; null leaves the row out. */
export async function lookUpEach<Row, Item>(
  { scheduler }: Pick<ReadModel, "scheduler">,
  { shown, nextCursor }: Page<Row>,
  look: (row: Row) => Promise<Item | null>,
): Promise<Page<Item>> {
  const found = await scheduler.mapEach(shown, look);
  return { shown: found.filter((item) => item !== null), nextCursor };
}

/** Runs one query when the scheduler lets it. */
export async function scheduledRead<Result>(
  { db, scheduler }: Pick<ReadModel, "db" | "scheduler">,
  read: (db: ReadDatabase) => Result,
): Promise<Result> {
  await scheduler.nextRead();
  return read(db);
}

/** Runs several queries: `read` yields before each, and the scheduler decides when it continues. */
export async function readInSteps<Result>(
  { db, scheduler }: ReadModel,
  read: (db: ReadDatabase) => Generator<void, Result, void>,
): Promise<Result> {
  const steps = read(db);
  for (;;) {
    await scheduler.nextRead();
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** The most queries for one page; the next page looks for what they did not find. */
const QUERIES_PER_PAGE_MAX = 10;

/**
 * One page of a filtered list. Each query, and so the page, looks at a limited number of rows: if few match, the page
 * holds fewer items than `limit`, or none, and still says where to continue.
 */
export async function findPage<Query extends PageQuery, Row>(
  model: Pick<ReadModel, "db" | "scheduler">,
  query: Query,
  find: (db: ReadDatabase, query: Query) => RowPage<Row>,
): Promise<Page<Row>> {
  const shown: Row[] = [];
  let { after } = query;
  for (let nth = 0; nth < QUERIES_PER_PAGE_MAX && shown.length < query.limit; nth += 1) {
    const rest = { ...query, limit: query.limit - shown.length, ...(after === undefined ? {} : { after }) };
    const { rows, next } = await scheduledRead(model, (db) => find(db, rest));
    shown.push(...rows);
    if (next === null) return { shown, nextCursor: null };
    after = next;
  }
  return { shown, nextCursor: after === undefined ? null : encodeCursor(after) };
}
