import type { KeysetCursor, PageQuery } from "../../../projections/keysetPagination.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import { rangeEnd } from "../body/dateTimeText.ts";
import { invalid, type Problem } from "../server/problem.ts";

/** The number of items in a page: the default, and the maximum. */
export const PAGE_ITEMS_DEFAULT = 25;
export const PAGE_ITEMS_MAX = 100;

/** The number of items that the parameter `limit` asks for; the schema of the query has checked it. */
export function pageItems(limit: string | undefined): number {
  return limit === undefined ? PAGE_ITEMS_DEFAULT : Number(limit);
}

export interface Page<Row> {
  readonly shown: readonly Row[];
  readonly nextCursor: string | null;
}

/** Opaque to callers; reveals nothing that the list does not. */
export function encodeCursor(cursor: KeysetCursor): string {
  return Buffer.from(JSON.stringify([cursor.createdAt, cursor.id])).toString("base64url");
}

/** What {@link encodeCursor} was given. Throws INVALID_REQUEST for anything else. */
export function decodeCursor(cursor: string): KeysetCursor {
  try {
    const [createdAt, id] = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8")) as unknown[];
    if (typeof createdAt === "string" && typeof id === "string") return { createdAt, id };
  } catch {
    // Not ours: refused below like any other text that is not a cursor.
  }
  throw notACursor();
}

/** How many characters of a list's name its cursors carry. They tell lists apart and protect nothing. */
export const LIST_NAME_CHARS = 6;

/** The cursors of one list as callers see them. `list` identifies the list. */
export function cursorsOfList(list: readonly string[]) {
  const digest = new Bun.CryptoHasher("sha256").update(JSON.stringify(list)).digest("base64url");
  const name = digest.slice(0, LIST_NAME_CHARS);
  return {
    given: (cursor: string) => name + cursor,
    taken(cursor: string): string {
      if (!cursor.startsWith(name)) throw notACursor();
      return cursor.slice(name.length);
    },
  };
}

/** The refusal of a cursor from elsewhere. */
export function notACursor(): Problem {
  return invalid("/cursor", "is not a next_cursor of this list");
}

/** The page that a query asks for. */
export function pageRequest({
  limit,
  cursor,
}: {
  readonly limit?: string;
  readonly cursor?: string | undefined;
}): PageQuery {
  return { limit: pageItems(limit), ...(cursor === undefined ? {} : { after: decodeCursor(cursor) }) };
}

/** The time filter of a query. Throws INVALID_REQUEST if the range ends before it begins. */
export function createdRange(query: { readonly created_from?: string; readonly created_before?: string }) {
  const { created_from: from, created_before: before } = query;
  const createdFrom = from === undefined ? undefined : rangeEnd("/created_from", from);
  const createdBefore = before === undefined ? undefined : rangeEnd("/created_before", before);
  if (createdFrom !== undefined && createdBefore !== undefined && createdBefore < createdFrom)
    throw invalid("/created_before", "lies before created_from");
  return omitUndefined({ createdFrom, createdBefore });
}

/** One page from `find`, which is asked for one extra row to see whether there is a next page. */
export function pageOf<Query extends PageQuery, Row extends KeysetCursor>(
  request: Query,
  find: (request: Query) => readonly Row[],
): Page<Row> {
  const rows = find({ ...request, limit: request.limit + 1 });
  const shown = rows.slice(0, request.limit);
  const last = shown.at(-1);
  return { shown, nextCursor: rows.length > request.limit && last ? encodeCursor(last) : null };
}

export function pageJson<Row, Item>({ shown, nextCursor }: Page<Row>, itemJson: (row: Row) => Item) {
  return { data: shown.map(itemJson), next_cursor: nextCursor };
}
