import { listSenders } from "../../../../projections/senders.ts";
import { authorizingSender } from "../../../commands/sender/authorizingSender.ts";
import { readSender } from "../../../commands/sender/readSender.ts";
import { parseAddress } from "../../../kernel/text/emailAddress.ts";
import { catchUpIfInTime, scheduledRead } from "../../lists/caughtUpReads.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";

/** How many senders are tried. */
const SENDERS_TRIED_MAX = 25;

type Options = Pick<DashboardOptions, "deps" | "readModel">;

/** Addresses that the workspace, and the session's key, may send from; one for each sender that was tried. */
export async function usableAddresses(options: Options, context: PageContext): Promise<readonly string[]> {
  const names = await senderNames(options, context);
  const tried = await Promise.all(
    names.map(async (name) => {
      const address = name.includes("@") ? name : `hello@${name}`;
      const parsed = parseAddress(address);
      if (!("canonical" in parsed)) return [];
      const sender = await authorizingSender(options.deps, context.workspaceId, parsed);
      return typeof sender === "object" ? [address] : [];
    }),
  );
  return tried.flat();
}

/** Addresses and domains: those that the key is bound to, otherwise the newest of the workspace. */
async function senderNames(
  { deps, readModel }: Options,
  { principal, workspaceId }: PageContext,
): Promise<readonly string[]> {
  if (principal.senders !== null) return [...principal.senders].slice(0, SENDERS_TRIED_MAX);
  const query = { workspaceId, limit: SENDERS_TRIED_MAX };
  const model = readModel("senders");
  await catchUpIfInTime(model);
  const rows = await scheduledRead(model, (db) => listSenders(db, query));
  const found = await Promise.all(rows.map(({ id }) => readSender(deps, workspaceId, id)));
  return found.flatMap((view) => (view === null ? [] : [view.sender.name]));
}
