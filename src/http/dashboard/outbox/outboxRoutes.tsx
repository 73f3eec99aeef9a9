/** @jsxImportSource hono/jsx */
import { readEmail } from "../../../commands/email/readEmail.ts";
import { isUuid } from "../../../kernel/ids.ts";
import { mailOwnerId } from "../../../kernel/liveOrTestOwner.ts";
import { destinationOf } from "../../../ports/mail/mailTransport.ts";
import { catchUp, loadEmailRows } from "../email/loadEmailRows.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext } from "../frame/dashboardRoute.ts";
import { cursorAsked, pageAsked } from "../frame/listPaging.ts";
import { messagesStream } from "../live/liveRoutes.ts";
import { OutboxPage } from "./outboxPage.tsx";

const MAILS_PER_PAGE = 25;
/** What a sent message can become by reports of its recipient's server. */
const SENT_STATUSES = ["sent", "delivered", "bounced", "complained"];

/** No test mail is written to files. */
const NOTHING = { shown: [], nextCursor: null };

/** A mailbox of what would have been sent: mail that was only written to the outbox. */
export function outboxRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  return [get("/outbox", "email:read", (context) => showOutbox(options, context))];
}

async function showOutbox(options: DashboardOptions, context: PageContext): Promise<Page> {
  const { query, principal } = context;
  const cursor = cursorAsked(context);
  if (cursor === null) await catchUp(options.readModel("emails"));
  const stream = await messagesStream(options, context);
  const asked = pageAsked(context, { limit: MAILS_PER_PAGE });
  const ofOwner = { ownerId: mailOwnerId(principal), statuses: SENT_STATUSES, ...asked };
  const { shown, nextCursor } =
    context.mail === "live" ? await loadEmailRows(options, principal, ofOwner) : NOTHING;
  const mails = shown.filter(({ transport }) => destinationOf(transport) === "files");
  const open = query.get("open") ?? "";
  const opened = isUuid(open) ? await readEmail(options.deps, principal, open.toLowerCase()) : null;
  return {
    title: "Outbox",
    isWide: true,
    body: (
      <OutboxPage
        context={context}
        mails={mails}
        opened={opened}
        isPhoneWide={query.get("width") === "phone"}
        cursor={cursor}
        nextCursor={nextCursor}
        stream={stream}
      />
    ),
  };
}
