import { listSenders } from "../../../../projections/senders.ts";
import { authorizingSender } from "../../../commands/sender/authorizingSender.ts";
import { readSender } from "../../../commands/sender/readSender.ts";
import { parseAddress } from "../../../kernel/text/emailAddress.ts";
import { catchUpIfInTime, scheduledRead } from "../../lists/caughtUpReads.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";

/** How many senders are tried for one that may send. */
const SENDERS_TRIED_MAX = 25;

type Options = Pick<DashboardOptions, "deps" | "readModel" | "url">;

/** A command that sends a first message from an address that may send; null if none is found. */
export async function firstSendCommand(options: Options, context: PageContext): Promise<string | null> {
  const from = await usableAddress(options, context);
  if (from === null) return null;
  const body = JSON.stringify({ from, to: "you@example.com", subject: "Hello", text: "It works." });
  return [
    `curl ${options.url.href.replace(/\/$/, "")}/api/v1/emails \\`,
    '  -H "Authorization: Bearer $POSTLEDGER_API_KEY" \\',
    "  -H 'Idempotency-Key: hello-0001' \\",
    "  -H 'Content-Type: application/json' \\",
    `  -d '${body.replaceAll("'", "'\\''")}'`,
  ].join("\n");
}

/** An address that the workspace, and the session's key, may send from. */
async function usableAddress(options: Options, context: PageContext): Promise<string | null> {
  for (const name of await senderNames(options, context)) {
    const address = name.includes("@") ? name : `hello@${name}`;
    const parsed = parseAddress(address);
    if (!("canonical" in parsed)) continue;
    const sender = await authorizingSender(options.deps, context.workspaceId, parsed);
    if (typeof sender === "object") return address;
  }
  return null;
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
