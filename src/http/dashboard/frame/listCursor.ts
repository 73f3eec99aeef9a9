import type { PageQuery } from "../../../../projections/keysetPagination.ts";
import { isUuid } from "../../../kernel/ids.ts";
import { decodeCursor } from "../../lists/cursorPaging.ts";
import type { PageContext } from "./dashboardRoute.ts";

/** Default rows per page. */
const ROWS_SHOWN = 50;

/** The requested page of a list. `isId` recognizes an id of the list's items. */
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
