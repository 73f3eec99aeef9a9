import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { usableAddresses } from "../sender/usableAddresses.ts";

type Options = Pick<DashboardOptions, "deps" | "readModel" | "url">;

/** A command that sends a first message from an address that may send; null if none is found. */
export async function firstSendCommand(options: Options, context: PageContext): Promise<string | null> {
  const [from] = await usableAddresses(options, context);
  if (from === undefined) return null;
  const body = JSON.stringify({ from, to: "you@example.com", subject: "Hello", text: "It works." });
  return [
    `curl ${options.url.href.replace(/\/$/, "")}/api/v1/emails \\`,
    '  -H "Authorization: Bearer $POSTLEDGER_API_KEY" \\',
    "  -H 'Idempotency-Key: hello-0001' \\",
    "  -H 'Content-Type: application/json' \\",
    `  -d '${body.replaceAll("'", "'\\''")}'`,
  ].join("\n");
}
