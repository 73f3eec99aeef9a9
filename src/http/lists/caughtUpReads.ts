import type { KeysetCursor, PageQuery, RowPage } from "../../../projections/keysetPagination.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { type Problem, unavailable } from "../server/problem.ts";
import { encodeCursor, type Page, pageOf } from "./cursorPaging.ts";
import type { ReadScheduler } from "./readScheduler.ts";

/**
 * How long an answer waits for its read model to hold what was written before it was asked for. On a busy machine
 * that takes seconds; a slow answer is better than one that has to be asked for again.
 */
export const CAUGHT_UP_WAIT_MS_MAX = 5_000;
/** How long somebody waits who takes the rows as they are then. */
const IF_IN_TIME_WAIT_MS_MAX = 1_000;

/** A read model as a list asks it. */
export interface ReadModel {
  readonly db: ReadDatabase;
  /** Waits until the rows hold the log up to where it is now; false after `timeoutMs`. */
  readonly whenCaughtUp: (timeoutMs: number) => Promise<boolean>;
  /** Shared by all read models. */
  readonly scheduler: ReadScheduler;
}

/** Where lists are read from: rows say what there is, and streams what it is like. */
export interface ListSource {
  readonly deps: Dependencies;
  /** A read model, by its name. */
  readonly readModel: (name: string) => ReadModel;
}

/** The rows, holding everything that was written before the call through any instance, for one query; else 503. */
export async function caughtUpRows(model: ReadModel): Promise<ReadDatabase> {
  await whenCaughtUp(model);
  await model.scheduler.nextRead();
  return model.db;
}

/**
 * Waits for a moment until the rows hold what was written before the call, and goes on all the same: after a change, so
 * that it shows in the list that is looked at next, and before the list of messages, of which somebody is always sending
 * the next.
 */
export async function catchUpIfInTime(model: ReadModel): Promise<void> {
  await model.whenCaughtUp(IF_IN_TIME_WAIT_MS_MAX);
}

/**
 * The rows, as current as waiting makes them: for bounds, of which a few too many do less harm than a 503 to somebody
 * who changes something else.
 */
export async function caughtUpRowsIfInTime(model: ReadModel): Promise<ReadDatabase> {
  await catchUpIfInTime(model);
  await model.scheduler.nextRead();
  return model.db;
}

/** A page of a list that holds everything that was written before the call through any instance; else 503. */
export async function caughtUpPage<Row extends KeysetCursor>(
  model: ReadModel,
  request: PageQuery,
  list: (db: ReadDatabase, page: PageQuery) => readonly Row[],
): Promise<Page<Row>> {
  const db = await caughtUpRows(model);
  return pageOf(request, (page) => list(db, page));
}

/** Waits until the rows hold everything that was written before the call through any instance; else 503. */
export async function whenCaughtUp(model: ReadModel): Promise<void> {
  if (await model.whenCaughtUp(CAUGHT_UP_WAIT_MS_MAX)) return;
  throw notUpToDate();
}

/** The answer to who cannot be shown a list as it is now. */
export function notUpToDate(): Problem {
  return unavailable("the list is not up to date yet");
}

/** The result of one query, once the scheduler lets it run. */
export async function scheduledRead<Result>(
  { db, scheduler }: Pick<ReadModel, "db" | "scheduler">,
  read: (db: ReadDatabase) => Result,
): Promise<Result> {
  await scheduler.nextRead();
  return read(db);
}

/** The result of several queries: `read` yields before each, and the scheduler says when it goes on. */
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

/** Queries that one page takes at most: what they have not found by then is looked for by the next page. */
const QUERIES_PER_PAGE_MAX = 10;

/**
 * One page of a list that a filter picks from. Each query looks at a bounded number of rows, and so does the page:
 * where hardly any match it holds fewer items than `limit`, or none, and still says where to go on.
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
