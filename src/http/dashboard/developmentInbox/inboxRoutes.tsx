/** @jsxImportSource hono/jsx */
import { readEmail } from "../../../commands/email/readEmail.ts";
import { isUuid } from "../../../kernel/ids.ts";
import { mailOwnerId } from "../../../kernel/mail/mailOwnerId.ts";
import { decodeCursor } from "../../lists/cursorPaging.ts";
import { catchUp, loadEmailRows } from "../email/loadEmailRows.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext } from "../frame/dashboardRoute.ts";
import { cursorAsked } from "../frame/listCursor.ts";
import { messagesStream } from "../live/liveRoutes.ts";
import { InboxPage } from "./inboxPage.tsx";

const MAILS_PER_PAGE = 25;

/** A mailbox of what would have been sent: mail that was only written to the outbox. */
export function inboxRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  return [get("/inbox", "email:read", (context) => showInbox(options, context))];
}

async function showInbox(options: DashboardOptions, context: PageContext): Promise<Page> {
  const { query, principal } = context;
  const cursor = cursorAsked(context);
  if (cursor === null) await catchUp(options.readModel("emails"));
  const wanted = { ownerId: mailOwnerId(principal), status: "sent", limit: MAILS_PER_PAGE };
  const stream = await messagesStream(options, context);
  const after = cursor === null ? {} : { after: decodeCursor(cursor) };
  const { shown, nextCursor } = await loadEmailRows(options, { ...wanted, ...after });
  const mails = shown.filter(({ transport }) => transport === "outbox");
  const open = query.get("open") ?? "";
  const opened = isUuid(open) ? await readEmail(options.deps, principal, open.toLowerCase()) : null;
  return {
    title: "Inbox",
    isWide: true,
    body: (
      <InboxPage
        context={context}
        mails={mails}
        opened={opened}
        isPhoneWide={query.get("width") === "phone"}
        cursor={cursor}
        nextCursor={nextCursor}
        stream={stream}
        isOutbox={options.isOutbox}
      />
    ),
  };
}
