import { type EmailQuery, type EmailRow, listEmails } from "../../../projections/emails/queries.ts";
import { type EmailView, readEmail } from "../../commands/email/readEmail.ts";
import { UnreadableEventError } from "../../kernel/event/codec.ts";
import { mailOwnerOf } from "../../kernel/mail/liveAndTestWorkspaceIds.ts";
import { findPage, type ListSource, lookUpEach } from "../lists/caughtUpReads.ts";
import type { Page } from "../lists/cursorPaging.ts";

/** How a list shows a message. */
interface EmailItems<Item> {
  readonly whole: (view: EmailView) => Item;
  /** From the read model alone, if the message's events cannot be read. */
  readonly unreadable: (row: EmailRow) => Item;
}

/** One page of messages, newest first. Addresses and subjects are only in the messages' own streams. */
export async function pageOfEmails<Item>(
  { deps, readModel }: ListSource,
  query: EmailQuery,
  { whole, unreadable }: EmailItems<Item>,
): Promise<Page<Item>> {
  const emails = readModel("emails");
  return lookUpEach(emails, await findPage(emails, query, listEmails), async (row) => {
    try {
      const view = await readEmail(deps, mailOwnerOf(query.ownerId), row.id);
      return view && whole(view);
    } catch (error) {
      // One message that this version cannot read must not break the list of all others.
      if (!(error instanceof UnreadableEventError)) throw error;
      return unreadable(row);
    }
  });
}
