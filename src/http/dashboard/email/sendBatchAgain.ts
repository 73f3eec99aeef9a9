import type { EmailQuery } from "../../../../projections/emails/queries.ts";
import { readEmail } from "../../../commands/email/readEmail.ts";
import { coversSender } from "../../../domain/apiKey/state.ts";
import { orIfUnreadable } from "../../email/emailPages.ts";
import { sendAgain } from "../../email/sendAgain.ts";
import type { ListSource } from "../../lists/caughtUpReads.ts";
import { decodeCursor } from "../../lists/cursorPaging.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { loadEmailRows } from "./loadEmailRows.ts";
import { refusalText } from "./refusalText.ts";

/** Messages that one form sends again, which must fit into the time of a request. */
export const BATCH_MAX = 200;
export const REFUSALS_SHOWN_MAX = 10;
export const OTHER_SENDERS = "the key is bound to other senders";
export const UNREADABLE = "its events are of a later version, or damaged";
/** Codes after which every further message would be refused too. */
const REFUSED_FOR_ALL = ["SENDING_PAUSED", "DAILY_LIMIT_REACHED", "STORAGE_LIMIT_EXCEEDED"];

export interface Batch {
  readonly query: Omit<EmailQuery, "limit">;
  /** The same one twice sends each message once, as when one form is submitted twice. */
  readonly nonce: string;
  /** Where the previous batch ended; null for the first. */
  readonly cursor: string | null;
}

export interface BatchResult {
  readonly done: number;
  readonly skipped: number;
  readonly refusals: readonly { readonly id: string; readonly why: string }[];
  /** Where the next batch begins; null when nothing is left. */
  readonly nextCursor: string | null;
}

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
  const refusals: { id: string; why: string }[] = [];
  let done = 0;
  let skipped = 0;
  for (const { id } of shown) {
    const why = await orIfUnreadable(refusalOf(source, context, id, nonce), () => {
      return { text: UNREADABLE, isForAll: false };
    });
    if (why === null) done += 1;
    else {
      skipped += 1;
      if (refusals.length < REFUSALS_SHOWN_MAX) refusals.push({ id, why: why.text });
      if (why.isForAll) return { done, skipped, refusals, nextCursor: null };
    }
  }
  return { done, skipped, refusals, nextCursor };
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
