import { type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { Closed, FreeText, Nullable, TimeText, WholeNumberText } from "../body/commonSchemas.ts";
import { withAdvice, withErrorText } from "../body/validation.ts";
import type { ProblemCode } from "../server/problemCodes.ts";
import { PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX } from "./cursorPaging.ts";

/** The size of a page; `ofDefault` says what it is if the caller does not. */
function limitParameter(ofDefault: { readonly default?: number }) {
  const range = { minimum: 1, maximum: PAGE_ITEMS_MAX, description: `1 to ${PAGE_ITEMS_MAX}.` };
  return withErrorText(
    `must be a whole number from 1 to ${PAGE_ITEMS_MAX}`,
    WholeNumberText("^([1-9][0-9]?|100)$", { ...range, ...ofDefault }),
  );
}

const Limit = limitParameter({ default: PAGE_ITEMS_DEFAULT });
const LimitWithoutDefault = limitParameter({});
const Cursor = FreeText("`next_cursor` of the page before.");

/** The time filter of most lists. */
export const CREATED_RANGE = {
  created_from: Type.Optional(TimeText("RFC 3339; included.")),
  created_before: Type.Optional(TimeText("RFC 3339; not included. Never before `created_from`.")),
};

const NEXT_PAGE = "for the next page, pass next_cursor of the page before as cursor";
/** Parameters with which other services turn pages. */
const PAGING_ADVICE = { page: NEXT_PAGE, offset: NEXT_PAGE, after: NEXT_PAGE };

/** The query of a list: its filters, and which page. */
export function listQuery<Filters extends TProperties>(filters: Filters) {
  return withAdvice(
    PAGING_ADVICE,
    Closed({ ...filters, limit: Type.Optional(Limit), cursor: Type.Optional(Cursor) }),
  );
}

/** The query of a list that is answered whole, unless its caller asks for pages. */
export const wholeListQuery = withAdvice(
  PAGING_ADVICE,
  Closed({ limit: Type.Optional(LimitWithoutDefault), cursor: Type.Optional(Cursor) }),
);

/** One page of a list: its items, and where the next page begins. */
function pageSchema<Item extends TSchema>(item: Item) {
  return Closed({
    data: Type.Array(item, { maxItems: PAGE_ITEMS_MAX }),
    next_cursor: Nullable(Type.String(), {
      description:
        "Null on the last page. A page may hold fewer items than `limit`, or none, and not be the last: a request looks at a bounded number of items, however few a filter matches.",
    }),
  });
}

export function answersPage<Item extends TSchema, Filters extends TProperties>(
  item: Item,
  filters: Filters,
  ...problems: readonly ProblemCode[]
) {
  return { query: listQuery(filters), success: { status: 200, schema: pageSchema(item) }, problems } as const;
}
