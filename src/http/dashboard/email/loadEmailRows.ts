import { type EmailQuery, type EmailRow, listEmails } from "../../../../projections/emails/queries.ts";
import type { Principal } from "../../../commands/apiKey/authenticate.ts";
import type { Dependencies } from "../../../commands/dependencies.ts";
import { sendingKeyId, statusSince } from "../../../commands/email/emailHistory.ts";
import { type EmailView, readEmail, readEmailByKey } from "../../../commands/email/readEmail.ts";
import { excerpt } from "../../../kernel/text/textLength.ts";
import { type EpochMs, rfc3339 } from "../../../kernel/time.ts";
import { pageOfEmails } from "../../email/emailPages.ts";
import { redactEmail, type ShownEmail } from "../../email/redactEmail.ts";
import { findPage, type ListSource, type ReadModel } from "../../lists/caughtUpReads.ts";
import type { Page } from "../../lists/cursorPaging.ts";

/**
 * A message in a list. Its addresses are unknown once erased, or if its events cannot be read; its subject and text are
 * also withheld from a key that may not read them.
 */
export interface MessageRow extends EmailRow {
  /** When it came to its status, RFC 3339. */
  readonly statusSince: string;
  /** When its delivery is scheduled; null if it is not, or that is unknown. */
  readonly scheduledAt: EpochMs | null;
  readonly from: string | null;
  readonly to: string | null;
  readonly subject: string | null;
  readonly templateId: string | null;
  readonly templateVersionId: string | null;
  /** The key with which it was sent. */
  readonly apiKeyId: string | null;
  /** The beginning of the text; "" if there is none. */
  readonly snippet: string;
  /** How it was handed over; null before that. */
  readonly transport: string | null;
}

const SNIPPET_CHARACTERS_MAX = 140;

/** How long a page waits for the latest writes, in ms. */
const CATCH_UP_MS_MAX = 300;

/** Waits briefly for the rows to catch up. The page then shows what is there; later changes arrive live. */
export async function catchUp(model: ReadModel): Promise<void> {
  await model.whenCaughtUp(CATCH_UP_MS_MAX);
}

/** One page of messages, newest first. */
export function loadEmailRows(
  source: ListSource,
  principal: Principal,
  query: EmailQuery,
): Promise<Page<MessageRow>> {
  const whole = (view: EmailView) => rowOfView(redactEmail(view, principal));
  return pageOfEmails(source, query, { whole, unreadable: rowAlone });
}

/** How many messages are newer than the one at the top of a list; `limit` means that many or more. */
export async function countNewer(
  { readModel }: ListSource,
  query: Omit<EmailQuery, "limit">,
  topId: string | null,
  limit: number,
): Promise<number> {
  const { shown } = await findPage(readModel("emails"), { ...query, limit }, listEmails);
  const at = shown.findIndex(({ id }) => id === topId);
  return at === -1 ? shown.length : at;
}

/** The most messages to count. */
const COUNTED_MAX = 1_000;

/** How many messages match a query; without `isAll` there may be more. */
export interface MatchCount {
  readonly count: number;
  readonly isAll: boolean;
}

export async function countMatching(
  { readModel }: ListSource,
  query: Omit<EmailQuery, "limit">,
): Promise<MatchCount> {
  const { shown, nextCursor } = await findPage(
    readModel("emails"),
    { ...query, limit: COUNTED_MAX },
    listEmails,
  );
  return { count: shown.length, isAll: nextCursor === null };
}

/** The current state of these messages, in the order of the ids. */
export async function messagesOf(
  { deps, readModel }: ListSource,
  owner: Principal,
  ids: readonly string[],
): Promise<readonly MessageRow[]> {
  const rows = await readModel("emails").scheduler.mapEach(ids, async (id) => {
    const view = await readEmail(deps, owner, id);
    return view && rowOfView(redactEmail(view, owner));
  });
  return rows.filter((row) => row !== null);
}

/** The message with an Idempotency-Key, as a list of at most one. */
export async function messageOfKey(
  deps: Dependencies,
  owner: Principal,
  key: string,
): Promise<readonly MessageRow[]> {
  const view = await readEmailByKey(deps, owner, key.trim());
  return view === null ? [] : [rowOfView(redactEmail(view, owner))];
}

function rowAlone(row: EmailRow): MessageRow {
  const unknown = { scheduledAt: null, snippet: "", transport: null };
  const origin = { templateId: null, templateVersionId: null, apiKeyId: null };
  return { ...row, ...unknown, ...origin, statusSince: row.updatedAt, from: null, to: null, subject: null };
}

function rowOfView(view: ShownEmail): MessageRow {
  const { id, email, content, events } = view;
  const createdAt = rfc3339(email.acceptedAt);
  return {
    id,
    status: email.status,
    createdAt,
    updatedAt: events.at(-1)?.at ?? createdAt,
    statusSince: statusSince(view) ?? createdAt,
    attempts: email.attempts,
    scheduledAt: email.scheduledAt,
    from: content?.from ?? null,
    to: content?.to ?? null,
    subject: content?.subject ?? null,
    templateId: email.templateId,
    templateVersionId: email.templateVersionId,
    apiKeyId: sendingKeyId(view),
    reason: email.reason,
    snippet: excerpt((content?.text ?? "").replace(/\s+/g, " ").trim(), SNIPPET_CHARACTERS_MAX),
    transport: email.transport,
  };
}
