import { Type } from "@sinclair/typebox";
import { type EmailQuery, listEmails } from "../../../projections/emails/queries.ts";
import type { Principal } from "../../commands/apiKey/authenticate.ts";
import { keyCoversEmailSender } from "../../commands/apiKey/keyCoversEmailSender.ts";
import { cancelEmail } from "../../commands/email/cancelEmail.ts";
import { readEmail } from "../../commands/email/readEmail.ts";
import { EMAIL_STATUSES, isWaiting } from "../../domain/email/state.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { Closed, Nullable, OneOf, Uuid } from "../body/commonSchemas.ts";
import { findPage, type ListSource, lookUpEach, whenCaughtUp } from "../lists/caughtUpReads.ts";
import { PAGE_ITEMS_MAX, type Page } from "../lists/cursorPaging.ts";
import { orIfUnreadable } from "./emailPages.ts";

/** Why a message that waited when it was found was not canceled, as callers see it. */
const NOT_CANCELED = {
  notCancelable: "ended_or_being_delivered",
  deliveryUnknown: "delivery_unknown",
  otherSender: "other_sender",
  unreadable: "unreadable",
} as const;

export const CanceledEmails = Closed(
  {
    canceled: Type.Array(Uuid, { maxItems: PAGE_ITEMS_MAX }),
    not_canceled: Type.Array(Closed({ id: Uuid, reason: OneOf(Object.values(NOT_CANCELED)) }), {
      maxItems: PAGE_ITEMS_MAX,
      description:
        "`delivery_unknown`: the relay may have it; erasing its content stops further attempts. `other_sender`: the key is bound to other senders. `unreadable`: its events are of a later version, or damaged.",
    }),
    next_cursor: Nullable(Type.String(), { description: "Null when all that match have been looked at." }),
  },
  { $id: "CanceledEmails", description: "What became of the messages that waited and matched." },
);

interface CancelAttempt {
  readonly id: string;
  /** Null if it is canceled. */
  readonly fault: keyof typeof NOT_CANCELED | null;
}

interface AskedBy {
  readonly principal: Principal;
  readonly commandContext: () => WorkspaceCommandContext;
}

const WAITING = EMAIL_STATUSES.filter(isWaiting);

/** The query for those of the messages that wait for their delivery. */
export function waitingOf<Query extends Omit<EmailQuery, "limit">>(query: Query): Query {
  return { ...query, statuses: WAITING.filter((status) => query.statuses?.includes(status) ?? true) };
}

/**
 * Cancels the waiting messages of one page of a query, each as if it were canceled alone. A list that lags would leave out
 * the newest, and say that nothing is left: then it throws a `Problem` (503) instead. Throws `StoreError`.
 */
export async function cancelEmails(
  source: ListSource,
  query: EmailQuery,
  askedBy: AskedBy,
): Promise<Page<CancelAttempt>> {
  const emails = source.readModel("emails");
  await whenCaughtUp(emails);
  const page = await findPage(emails, waitingOf(query), listEmails);
  return lookUpEach(emails, page, async ({ id }) => ({
    id,
    fault: await orIfUnreadable(faultOf(source, id, askedBy), () => "unreadable"),
  }));
}

async function faultOf(
  { deps }: ListSource,
  id: string,
  { principal, commandContext }: AskedBy,
): Promise<CancelAttempt["fault"]> {
  if (principal.senders !== null) {
    const view = await readEmail(deps, principal, id);
    if (view === null || !(await keyCoversEmailSender(deps, principal, view))) return "otherSender";
  }
  const outcome = await cancelEmail(deps, id, commandContext());
  if (outcome === "notFound") return "notCancelable";
  return outcome === "canceled" || outcome === "alreadyCanceled" ? null : outcome;
}

export function canceledEmailsJson({ shown, nextCursor }: Page<CancelAttempt>) {
  return {
    canceled: shown.filter(({ fault }) => fault === null).map(({ id }) => id),
    not_canceled: shown.flatMap(({ id, fault }) =>
      fault === null ? [] : [{ id, reason: NOT_CANCELED[fault] }],
    ),
    next_cursor: nextCursor,
  };
}
