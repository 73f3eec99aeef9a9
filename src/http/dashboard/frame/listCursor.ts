import type { KeysetCursor } from "../../../../projections/keysetList.ts";
import { isUuid } from "../../../kernel/ids.ts";
import { decodeCursor } from "../../lists/cursorPaging.ts";
import type { PageContext } from "./dashboardRoute.ts";

/** The cursor that a list is asked to go on from; undefined on its first page. */
export function cursorOf({ query }: PageContext): string | undefined {
  return query.get("cursor") ?? undefined;
}

/** The last item of the page before, as the queries of lists take it. `isId` recognizes an id of the list's items. */
export function afterCursor(
  context: PageContext,
  isId: (text: string) => boolean = isUuid,
): { readonly after?: KeysetCursor } {
  const cursor = cursorOf(context);
  return cursor === undefined ? {} : { after: decodeCursor(cursor, isId) };
}
