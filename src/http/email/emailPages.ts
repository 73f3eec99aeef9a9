import {
  type EmailQuery,
  type EmailRow,
  listEmails,
  type RowFilter,
} from "../../../projections/emails/queries.ts";
import type { CreatedRange } from "../../../projections/keysetPagination.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { metadataHashes } from "../../commands/email/metadataHashes.ts";
import { type EmailView, readEmail } from "../../commands/email/readEmail.ts";
import { UnreadableEventError } from "../../kernel/event/eventCodec.ts";
import { type MailOwner, mailOwnerId, mailOwnerOf } from "../../kernel/liveOrTestOwner.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import { findPage, type ListSource, lookUpEach } from "../lists/caughtUpReads.ts";
import type { Page } from "../lists/cursorPaging.ts";

type FilterName = Exclude<RowFilter, "senderId" | "recipientHash"> | "from" | "to" | "tag";

/** What a caller filters messages by, checked. Addresses are canonical. The compiler asks callers for every filter. */
type EmailFilters = Readonly<Record<FilterName, string | undefined>> &
  Readonly<Record<"statuses" | "reasons", readonly string[] | undefined>> & {
    readonly metadata: Readonly<Record<string, string>> | undefined;
  } & CreatedRange;

/** The query for these filters. The rows hold keyed hashes in place of addresses, tags and metadata. */
export function emailQuery(
  { keys }: Pick<Dependencies, "keys">,
  owner: MailOwner,
  { from, to, tag, metadata, ...others }: EmailFilters,
): Omit<EmailQuery, "limit"> {
  const ownerId = mailOwnerId(owner);
  const hashOf = (address?: string) => address && keys.hashAddress(owner.workspaceId, address);
  const hashes = {
    senderId: hashOf(from),
    recipientHash: hashOf(to),
    tag: tag && keys.hashTag(ownerId, tag),
    metadata: metadata && metadataHashes(keys, ownerId, metadata),
  };
  return { ownerId, ...omitUndefined({ ...others, ...hashes }) };
}

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
  const look = async (row: EmailRow) => {
    const view = await readEmail(deps, mailOwnerOf(query.ownerId), row.id);
    return view && whole(view);
  };
  return lookUpEach(emails, await findPage(emails, query, listEmails), (row) =>
    orIfUnreadable(look(row), () => unreadable(row)),
  );
}

/** One message that this version cannot read must not break the list of all others, or what is done to all of them. */
export async function orIfUnreadable<Found, Otherwise>(
  looked: Promise<Found>,
  otherwise: () => Otherwise,
): Promise<Found | Otherwise> {
  try {
    return await looked;
  } catch (error) {
    if (!(error instanceof UnreadableEventError)) throw error;
    return otherwise();
  }
}
