import type { PageQuery } from "../../../../projections/keysetPagination.ts";
import { isUuid } from "../../../kernel/ids.ts";
import { decodeCursor } from "../../lists/cursorPaging.ts";
import type { PageContext } from "./dashboardRoute.ts";

/** Rows of one page, unless its list says otherwise. */
const ROWS_SHOWN = 50;

/** The page of a list that is asked for. `isId` recognizes an id of the list's items. */
export function pageAsked(
  { query }: Pick<PageContext, "query">,
  {
    limit = ROWS_SHOWN,
    isId = isUuid,
  }: Partial<PageQuery> & { readonly isId?: (text: string) => boolean } = {},
): PageQuery {
  const cursor = query.get("cursor");
  return { limit, ...(cursor === null ? {} : { after: decodeCursor(cursor, isId) }) };
}
