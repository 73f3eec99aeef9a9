import { isUuid } from "../../kernel/ids.ts";
import { wholeNumber } from "../../kernel/text/wholeNumber.ts";
import { invalid, type Problem } from "../server/problem.ts";

/** How many items a list answers when it is not told, and at most. */
const PAGE_ITEMS_DEFAULT = 25;
const PAGE_ITEMS_MAX = 100;

/** How many items a list is asked for by the parameter `limit`. */
export function pageItems(limit: string | undefined): number {
  if (limit === undefined) return PAGE_ITEMS_DEFAULT;
  const items = wholeNumber(limit, { min: 1, max: PAGE_ITEMS_MAX });
  if (items === null) throw invalid("/limit", `must be a whole number from 1 to ${PAGE_ITEMS_MAX}`);
  return items;
}

/** Where a page begins: after this item, going back in time. */
export interface PageKey {
  readonly createdAt: string;
  readonly id: string;
}

/** Opaque to callers; says nothing that the list does not. */
export function encodeCursor(key: PageKey): string {
  return Buffer.from(JSON.stringify([key.createdAt, key.id])).toString("base64url");
}

/** `isId` tells an id of the list's items. */
export function decodeCursor(cursor: string, isId: (text: string) => boolean = isUuid): PageKey {
  try {
    const [createdAt, id] = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8")) as unknown[];
    if (typeof createdAt === "string" && typeof id === "string" && isId(id)) return { createdAt, id };
  } catch {
    // Not ours: answered below like any other text that is not a cursor.
  }
  throw notACursor();
}

/** The refusal of a cursor that the list did not give. */
export function notACursor(): Problem {
  return invalid("/cursor", "is not a next_cursor of this list");
}

/** One page out of `limit + 1` rows: the extra row only tells that there is more. */
export function pageOf<Row extends PageKey>(rows: readonly Row[], limit: number) {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return { shown, nextCursor: rows.length > limit && last ? encodeCursor(last) : null };
}
