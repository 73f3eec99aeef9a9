import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { usableSenders } from "../sender/usableSenders.ts";

type Options = Pick<DashboardOptions, "deps" | "readModel" | "url">;

export interface FirstSendCommand {
  readonly text: string;
  /** The part of it that its reader has to complete, if only a domain may send; null if it is complete. */
  readonly toComplete: string | null;
}

/** A command that sends from an address that may send, or else from a domain; null if none is found. */
export async function firstSendCommand(
  options: Options,
  context: PageContext,
): Promise<FirstSendCommand | null> {
  const { addresses, domains } = await usableSenders(options, context);
  const [address] = addresses;
  if (address !== undefined) return { text: commandFrom(options, address), toComplete: null };
  const [domain] = domains;
  if (domain === undefined) return null;
  // Refused as it is: nobody sends from an address that we have made up.
  const toComplete = `<name>@${domain}`;
  return { text: commandFrom(options, toComplete), toComplete };
}

function commandFrom(options: Pick<Options, "url">, from: string): string {
  const body = JSON.stringify({ from, to: "you@example.com", subject: "Hello", text: "It works." });
  return [
    `curl ${options.url.href.replace(/\/$/, "")}/api/v1/emails \\`,
    '  -H "Authorization: Bearer $POSTLEDGER_API_KEY" \\',
    "  -H 'Idempotency-Key: hello-0001' \\",
    "  -H 'Content-Type: application/json' \\",
    `  -d '${body.replaceAll("'", "'\\''")}'`,
  ].join("\n");
}
