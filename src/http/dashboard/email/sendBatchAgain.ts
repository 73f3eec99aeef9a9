import { readEmail } from "../../../commands/email/readEmail.ts";
import { coversSender } from "../../../domain/apiKey/state.ts";
import { orIfUnreadable } from "../../email/emailPages.ts";
import { sendAgain } from "../../email/sendAgain.ts";
import type { ListSource } from "../../lists/caughtUpReads.ts";
import { decodeCursor } from "../../lists/cursorPaging.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { loadEmailRows } from "./loadEmailRows.ts";
import {
  type Attempt,
  type Batch,
  type BatchResult,
  batchResult,
  OTHER_SENDERS,
  UNREADABLE,
} from "./matchingBatch.ts";
import { refusalText } from "./refusalText.ts";

/** Messages that one form sends again, which must fit into the time of a request. */
export const BATCH_MAX = 200;
/** Codes after which every further message would be refused too. */
const REFUSED_FOR_ALL = ["SENDING_PAUSED", "DAILY_LIMIT_REACHED", "STORAGE_LIMIT_EXCEEDED"];

/** Sends the next messages of a search again, one after another. */
export async function sendBatchAgain(
  source: ListSource,
  context: PageContext,
  { query, nonce, cursor }: Batch,
): Promise<BatchResult> {
  const after = cursor === null ? {} : { after: decodeCursor(cursor) };
  const { shown, nextCursor } = await loadEmailRows(source, context.principal, {
    ...query,
    limit: BATCH_MAX,
    ...after,
  });
  const attempts: Attempt[] = [];
  for (const { id } of shown) {
    const refusal = await orIfUnreadable(refusalOf(source, context, id, nonce), () => {
      return { text: UNREADABLE, isForAll: false };
    });
    attempts.push({ id, why: refusal?.text ?? null });
    if (refusal?.isForAll) return batchResult(attempts, null);
  }
  return batchResult(attempts, nextCursor);
}

/** Sends one message again. Returns why it was not sent, else null. */
async function refusalOf({ deps }: ListSource, context: PageContext, id: string, nonce: string) {
  const view = await readEmail(deps, context.principal, id);
  const from = view?.content?.from.toLowerCase();
  if (view === null || from === undefined) return { text: "its content was erased", isForAll: false };
  if (!coversSender(context.principal, from)) return { text: OTHER_SENDERS, isForAll: false };
  const outcome = await sendAgain(deps, { view, to: null, key: nonce }, context);
  if (outcome.kind === "accepted") return null;
  const isForAll = outcome.kind === "refused" && REFUSED_FOR_ALL.includes(outcome.code);
  return { text: refusalText(outcome), isForAll };
}
