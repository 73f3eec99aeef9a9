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

/** What the workspace, and the session's key, may send from, newest first. Both are empty if nothing may send. */
export interface UsableSenders {
  /** Addresses that somebody has named, so they exist: those of the first page of senders that has any. */
  readonly addresses: readonly string[];
  /** Domains among the senders looked at. Nobody has said which addresses exist there. */
  readonly domains: readonly string[];
}

export async function usableSenders(options: Options, context: PageContext): Promise<UsableSenders> {
  const domains: string[] = [];
  for await (const names of senderNames(options, context)) {
    const tried = await Promise.all(names.map(async (name) => ((await maySend(name)) ? [name] : [])));
    const addresses = tried.flat().filter(isAddress);
    domains.push(...tried.flat().filter((name) => !isAddress(name)));
    if (addresses.length > 0) return { addresses, domains };
  }
  return { addresses: [], domains };

  async function maySend(name: string): Promise<boolean> {
    // Of a domain any address may send: this one exists wherever mail is taken (RFC 5321, 4.5.1).
    const parsed = parseAddress(isAddress(name) ? name : `postmaster@${name}`);
    if (!("canonical" in parsed)) return false;
    return typeof (await authorizingSender(options.deps, context.workspaceId, parsed)) === "object";
  }
}

function isAddress(name: string): boolean {
  return name.includes("@");
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
