import { newestTagged } from "../../../projections/emails/queries.ts";
import type { UsageCursor } from "../../../projections/emails/usage/usageBuckets.ts";
import { readEmail } from "../../commands/email/readEmail.ts";
import { mailOwnerOf } from "../../kernel/liveOrTestOwner.ts";
import { type ListSource, scheduledRead } from "../lists/caughtUpReads.ts";

/** The tag names of these rows by hash, as far as a message still holds them. */
export async function tagNamesByHash(
  { deps, readModel }: ListSource,
  ownerId: string,
  rows: readonly Pick<UsageCursor, "group">[],
): Promise<ReadonlyMap<string, string>> {
  const hashes = [...new Set(rows.map(({ group }) => group))];
  const emails = readModel("emails");
  const ids = await scheduledRead(emails, (db) => hashes.map((hash) => newestTagged(db, hash)));
  const names = new Map<string, string>();
  await emails.scheduler.mapEach(ids, async (id) => {
    const view = id === null ? null : await readEmail(deps, mailOwnerOf(ownerId), id);
    for (const tag of view?.content?.tags ?? []) names.set(deps.keys.hashTag(ownerId, tag), tag);
  });
  return names;
}
