import type { KeysetCursor } from "../../../../projections/keysetPagination.ts";
import { listSenders } from "../../../../projections/senders.ts";
import { authorizingSender } from "../../../commands/sender/authorizingSender.ts";
import { SENDERS_MAX } from "../../../domain/sender/decisions.ts";
import { omitUndefined } from "../../../kernel/omitUndefined.ts";
import { parseAddress } from "../../../kernel/text/emailAddress.ts";
import { catchUpIfInTime, scheduledRead } from "../../lists/caughtUpReads.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";

/** How many senders are tried at once. */
const PAGE_SIZE = 25;
/** Enough for all senders of a workspace. */
const PAGES_MAX = Math.ceil(SENDERS_MAX / PAGE_SIZE);

type Options = Pick<DashboardOptions, "deps" | "readModel">;

/**
 * Addresses that the workspace, and the session's key, may send from, newest first: those of the first page of senders
 * that has any. Empty if no sender may send.
 */
export async function usableAddresses(options: Options, context: PageContext): Promise<readonly string[]> {
  for await (const names of senderNames(options, context)) {
    const tried = await Promise.all(
      names.map(async (name) => {
        const address = name.includes("@") ? name : `hello@${name}`;
        const parsed = parseAddress(address);
        if (!("canonical" in parsed)) return [];
        const sender = await authorizingSender(options.deps, context.workspaceId, parsed);
        return typeof sender === "object" ? [address] : [];
      }),
    );
    const usable = tried.flat();
    if (usable.length > 0) return usable;
  }
  return [];
}

/** Addresses and domains, in pages: those that the key is bound to, otherwise all of the workspace, newest first. */
async function* senderNames(
  { deps, readModel }: Options,
  { principal, workspaceId }: PageContext,
): AsyncGenerator<readonly string[]> {
  if (principal.senders !== null) {
    yield [...principal.senders];
    return;
  }
  const model = readModel("senders");
  await catchUpIfInTime(model);
  let after: KeysetCursor | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const query = { workspaceId, limit: PAGE_SIZE, ...omitUndefined({ after }) };
    const rows = await scheduledRead(model, (db) => listSenders(db, query));
    // The cache that `authorizingSender` reads too, so each sender is loaded once.
    const senders = await Promise.all(rows.map(({ id }) => deps.senders.get(id)));
    yield senders.flatMap((sender) => (sender === null ? [] : [sender.name]));
    after = rows.at(-1);
    if (rows.length < PAGE_SIZE) return;
  }
}
