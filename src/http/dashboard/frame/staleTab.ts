import { mailOwnerId } from "../../../kernel/liveOrTestOwner.ts";
import type { PageContext } from "./dashboardRoute.ts";

/** The request header in which the scripts of a page say whose mail it shows: {@link mailOwnerId}. */
const SHOWN_HEADER = "postledger-shown";
/** The header of a refusal that names what the session shows by now, percent-encoded. */
const SHOWN_NOW_HEADER = "postledger-shown-now";

/** What a page shows, for people: its workspace, and whether its mail is test mail. */
export function shownMail({ workspaceName, mail }: Pick<PageContext, "workspaceName" | "mail">): string {
  return mail === "live" ? workspaceName : `${workspaceName}, test mail`;
}

/**
 * The refusal of a script's request from a page that shows other mail than its session does by now: the browser has
 * logged in elsewhere since, in another tab. Null for everything else; a whole page comes without the header.
 */
export function refusedScript(context: PageContext): Response | null {
  const shown = context.request.headers.get(SHOWN_HEADER);
  if (shown === null || shown === mailOwnerId(context.principal)) return null;
  const headers = { [SHOWN_NOW_HEADER]: encodeURIComponent(shownMail(context)), "cache-control": "no-store" };
  return new Response(null, { status: 409, headers });
}
