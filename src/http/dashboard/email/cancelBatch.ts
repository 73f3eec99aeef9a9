import { cancelEmails } from "../../email/cancelEmails.ts";
import type { ListSource } from "../../lists/caughtUpReads.ts";
import { decodeCursor, PAGE_ITEMS_MAX } from "../../lists/cursorPaging.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";
import {
  type Attempt,
  type Batch,
  type BatchResult,
  batchResult,
  OTHER_SENDERS,
  UNREADABLE,
} from "./matchingBatch.ts";

/** Pages of messages that one form cancels, which must fit into the time of a request. */
const PAGES_MAX = 10;
/** Messages that one form cancels. */
export const CANCELED_MAX = PAGES_MAX * PAGE_ITEMS_MAX;

const FAULTS = {
  notCancelable: "a worker has taken it, or it has ended",
  deliveryUnknown: "the relay may have it",
  otherSender: OTHER_SENDERS,
  unreadable: UNREADABLE,
} as const;

/** Cancels the next waiting messages of a search. */
export async function cancelBatch(
  source: ListSource,
  context: PageContext,
  { query, cursor }: Pick<Batch, "query" | "cursor">,
): Promise<BatchResult> {
  const attempts: Attempt[] = [];
  let nextCursor = cursor;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const after = nextCursor === null ? {} : { after: decodeCursor(nextCursor) };
    const found = await cancelEmails(source, { ...query, limit: PAGE_ITEMS_MAX, ...after }, context);
    attempts.push(
      ...found.shown.map(({ id, fault }) => ({ id, why: fault === null ? null : FAULTS[fault] })),
    );
    nextCursor = found.nextCursor;
    if (nextCursor === null) break;
  }
  return batchResult(attempts, nextCursor);
}
