/** @jsxImportSource hono/jsx */
import { readEmail } from "../../../commands/email/readEmail.ts";
import { isUuid } from "../../../kernel/ids.ts";
import { rfc3339, utcDay } from "../../../kernel/time.ts";
import type { ListSource } from "../../lists/caughtUpReads.ts";
import type { Page as RowPage } from "../../lists/cursorPaging.ts";
import { type CsvColumns, csvResponse } from "../components/csvStream.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import {
  type DashboardRoute,
  get,
  getInBackground,
  type Page,
  type PageContext,
} from "../frame/dashboardRoute.ts";
import { seeOther } from "../frame/flashMessages.ts";
import { pageAsked } from "../frame/listPaging.ts";
import { messagesStream } from "../live/liveRoutes.ts";
import { firstSendCommand } from "../newEmail/firstSendCommand.ts";
import { EmailList, listAddress, MessageRows, NEW_SHOWN_MAX } from "./emailListPage.tsx";
import {
  emailQueryOf,
  parseSearch,
  queryOfSearch,
  SEARCH_WORDS,
  type Search,
  type SearchTerms,
  searchText,
} from "./emailSearch.ts";
import {
  catchUp,
  countNewer,
  loadEmailRows,
  type MessageRow,
  messageOfKey,
  messagesOf,
} from "./loadEmailRows.ts";

const ROWS_PER_PAGE = 30;

/** The list of messages. */
export function emailListRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  return [
    get("/messages", "email:status", (context) => showList(options, context)),
    getInBackground("/messages/rows", "email:status", (context) => showRows(options, context)),
    get("/messages.csv", "email:status", async (context) => csv(options, context)),
  ];
}

function wordsOfForm(query: URLSearchParams): SearchTerms {
  return Object.fromEntries(SEARCH_WORDS.map((name) => [name, query.get(name) ?? ""]));
}

async function showList(options: DashboardOptions, context: PageContext): Promise<Page | Response> {
  const { query } = context;
  if (query.has("words")) return seeOther(listAddress(context, searchText(wordsOfForm(query))));
  const search = parseSearch(query.get("q") ?? "");
  if (search.id !== null && (await isMessage(options, context, search)))
    return context.seeOther(`/messages/${search.id}`);
  // Before reading the rows: a change in between is then announced twice rather than never.
  const stream = await messagesStream(options, context);
  const found = await find(options, context, search);
  const isEmpty =
    found.shown.length === 0 && searchText(search.words) === "" && context.readModelBuild === null;
  return {
    title: "Messages",
    isWide: true,
    status: found.faults.length > 0 ? 422 : 200,
    body: (
      <EmailList
        context={context}
        now={options.deps.clock.now()}
        search={search}
        faults={found.faults}
        rows={found.shown}
        nextCursor={found.nextCursor}
        isFirstPage={!query.has("cursor")}
        stream={stream}
        firstCommand={isEmpty ? await firstSendCommand(options, context) : null}
      />
    ),
  };
}

/** Whether a search that may be an id means that: an address is only looked for if no message has the id. */
async function isMessage({ deps }: ListSource, { principal }: PageContext, { id, words }: Search) {
  return words.to === undefined || (await readEmail(deps, principal, id ?? "")) !== null;
}

async function find(source: ListSource, context: PageContext, search: Search) {
  const { principal: owner } = context;
  const nothing: RowPage<MessageRow> & Pick<Search, "faults"> = { shown: [], nextCursor: null, faults: [] };
  const parsed = emailQueryOf(source.deps, owner, search);
  if ("faults" in parsed) return { ...nothing, faults: parsed.faults };
  const { key } = search.words;
  // Read from its own stream, so it is found at once.
  if (key !== undefined) return { ...nothing, shown: await messageOfKey(source.deps, owner, key) };
  if (!context.query.has("cursor")) await catchUp(source.readModel("emails"));
  const asked = pageAsked(context, { limit: ROWS_PER_PAGE });
  return { ...nothing, ...(await loadEmailRows(source, owner, { ...parsed.query, ...asked })) };
}

const COLUMNS: CsvColumns<MessageRow> = {
  id: (row) => row.id,
  status: (row) => row.status,
  created_at: (row) => row.createdAt,
  updated_at: (row) => row.updatedAt,
  from: (row) => row.from,
  to: (row) => row.to,
  subject: (row) => row.subject,
  template_id: (row) => row.templateId,
  attempts: (row) => String(row.attempts),
  reason: (row) => row.reason,
  template_version_id: (row) => row.templateVersionId,
  api_key_id: (row) => row.apiKeyId,
};

/** Streams the messages that a search finds as a CSV file. */
function csv(source: ListSource, context: PageContext): Response {
  const query = queryOfSearch(source.deps, context.principal, context.query.get("q") ?? "");
  const day = utcDay(rfc3339(source.deps.clock.now()));
  return csvResponse(source.deps, context, `messages-${day}.csv`, {
    page: "/messages",
    columns: COLUMNS,
    list: (asked) => loadEmailRows(source, context.principal, { ...query, ...asked }),
  });
}

async function showRows(source: ListSource, context: PageContext): Promise<Page> {
  const { query, principal } = context;
  const search = parseSearch(query.get("q") ?? "");
  const ids = (query.get("ids") ?? "").split(",").filter(isUuid).slice(0, ROWS_PER_PAGE);
  const rows = await messagesOf(source, principal, ids);
  const isFirstPage = query.has("first");
  const parsed = emailQueryOf(source.deps, principal, search);
  const isCounted = isFirstPage && "query" in parsed && search.words.key === undefined;
  const newer = isCounted ? await countNewer(source, parsed.query, ids[0] ?? null, NEW_SHOWN_MAX) : 0;
  return {
    title: "Messages",
    body: (
      <MessageRows
        context={context}
        now={source.deps.clock.now()}
        search={search}
        rows={rows}
        isFirstPage={isFirstPage}
        newer={newer}
      />
    ),
  };
}
