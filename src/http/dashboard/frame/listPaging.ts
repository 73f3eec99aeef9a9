import type { PageQuery } from "../../../../projections/keysetPagination.ts";
import { cursorsOfList, decodeCursor } from "../../lists/cursorPaging.ts";
import type { PageContext } from "./dashboardRoute.ts";

/** Default rows per page. */
const ROWS_SHOWN = 50;

/** What tells a list of the dashboard apart: its workspace, and its path below the dashboard's. */
type ListPlace = Pick<PageContext, "workspaceId" | "path">;

function cursorsAt({ workspaceId, path }: ListPlace) {
  return cursorsOfList([workspaceId, "dashboard", path]);
}

/** A cursor as links to a page of its list carry it. */
export function cursorForLink(place: ListPlace, cursor: string): string {
  return cursorsAt(place).given(cursor);
}

/** The cursor of the requested page; null for the first one. Refuses a cursor of another list. */
export function cursorAsked(context: ListPlace & Pick<PageContext, "query">): string | null {
  const cursor = context.query.get("cursor");
  return cursor === null ? null : cursorsAt(context).taken(cursor);
}

/** The requested page of a list. */
export function pageAsked(
  context: Parameters<typeof cursorAsked>[0],
  { limit = ROWS_SHOWN }: { readonly limit?: number } = {},
): PageQuery {
  const cursor = cursorAsked(context);
  return { limit, ...(cursor === null ? {} : { after: decodeCursor(cursor) }) };
}
