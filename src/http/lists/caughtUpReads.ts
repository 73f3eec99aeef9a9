import type { Found, ListPlace } from "../../../projections/keysetList.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { Problem } from "../server/problem.ts";
import { encodeCursor } from "./cursorPaging.ts";
import type { ReadTurns } from "./readScheduler.ts";

/** How long a list waits for its read model to hold what was written before it was asked for. */
const CURRENT_WAIT_MS = 1_000;

/** A read model as a list asks it. */
export interface ReadModel {
  readonly db: ReadDatabase;
  /** Waits until the rows hold the log up to where it is now; false after `timeoutMs`. */
  readonly whenCurrent: (timeoutMs: number) => Promise<boolean>;
  /** Shared by all read models. */
  readonly turns: ReadTurns;
}

/** The rows, holding everything that was written before the call through any instance, for one query; else 503. */
export async function currentRows(model: ReadModel): Promise<ReadDatabase> {
  await whenCurrent(model);
  await model.turns.next();
  return model.db;
}

/**
 * The rows, as current as waiting makes them: for bounds, of which a few too many do less harm than a 503 to somebody
 * who changes something else.
 */
export async function nearlyCurrentRows(model: ReadModel): Promise<ReadDatabase> {
  await model.whenCurrent(CURRENT_WAIT_MS);
  await model.turns.next();
  return model.db;
}

/** Waits until the rows hold everything that was written before the call through any instance; else 503. */
export async function whenCurrent(model: ReadModel): Promise<void> {
  if (await model.whenCurrent(CURRENT_WAIT_MS)) return;
  throw new Problem("INTERNAL_ERROR", { unavailable: true, detail: "the list is not up to date yet" });
}

/** What `read` says of the rows, when it is its turn. */
export async function inTurn<Result>(
  { db, turns }: Pick<ReadModel, "db" | "turns">,
  read: (db: ReadDatabase) => Result,
): Promise<Result> {
  await turns.next();
  return read(db);
}

/** What `read` comes to that makes one query after another, each when it is its turn. */
export async function inTurns<Result>(
  { db, turns }: ReadModel,
  read: (db: ReadDatabase) => Generator<void, Result, void>,
): Promise<Result> {
  const steps = read(db);
  for (;;) {
    await turns.next();
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Queries that one page takes at most: what they have not found by then is looked for by the next page. */
const QUERIES_PER_PAGE_MAX = 10;

/** One page of a list. */
export interface Page<Row> {
  readonly shown: readonly Row[];
  readonly nextCursor: string | null;
}

/** What a list is asked for. */
interface ListQuery {
  /** The last row of the page before. */
  readonly after?: ListPlace;
  readonly limit: number;
}

/**
 * One page of a list that a filter picks from. Each query looks at a bounded number of rows, and so does the page:
 * where hardly any match it holds fewer items than `limit`, or none, and still says where to go on.
 */
export async function findPage<Query extends ListQuery, Row>(
  model: Pick<ReadModel, "db" | "turns">,
  query: Query,
  find: (db: ReadDatabase, query: Query) => Found<Row>,
): Promise<Page<Row>> {
  const shown: Row[] = [];
  let { after } = query;
  for (let nth = 0; nth < QUERIES_PER_PAGE_MAX && shown.length < query.limit; nth += 1) {
    const rest = { ...query, limit: query.limit - shown.length, ...(after === undefined ? {} : { after }) };
    const { rows, next } = await inTurn(model, (db) => find(db, rest));
    shown.push(...rows);
    if (next === null) return { shown, nextCursor: null };
    after = next;
  }
  return { shown, nextCursor: after === undefined ? null : encodeCursor(after) };
}
