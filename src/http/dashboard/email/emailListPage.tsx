/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import { EMAIL_REASONS } from "../../../domain/email/emailReasons.ts";
import { EMAIL_STATUSES } from "../../../domain/email/state.ts";
import { POSTLEDGER } from "../../../kernel/text/cliInvocation.ts";
import type { EpochMs } from "../../../kernel/time.ts";
import { mayReadContent } from "../../email/redactEmail.ts";
import { LinkButton } from "../components/button.tsx";
import { Field, Select } from "../components/form.tsx";
import { Heading } from "../components/heading.tsx";
import { type Column, CsvButton, Empty, NoRows, Pager, RowTable, withFilter } from "../components/list.tsx";
import { Status } from "../components/status.tsx";
import { lengthOfTime, Time } from "../components/time.tsx";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { LiveMark, reloadedFrom } from "../live/liveIndicator.tsx";
import type { FirstSendCommand } from "../newEmail/firstSendCommand.ts";
import { SEARCH_CHARACTERS_MAX, type Search, searchText } from "./emailSearch.ts";
import type { MessageRow } from "./loadEmailRows.ts";
import { reasonText } from "./reasonText.ts";

/** More new messages than this are shown as this many or more. */
export const NEW_SHOWN_MAX = 100;

interface EmailListProps {
  readonly context: PageContext;
  readonly now: EpochMs;
  readonly search: Search;
  readonly faults: readonly string[];
  readonly rows: readonly MessageRow[];
  readonly nextCursor: string | null;
  readonly isFirstPage: boolean;
  /** The address of the stream that says what is new. */
  readonly stream: string;
  /** A command that sends a first message; null if no sender may send. */
  readonly firstCommand: FirstSendCommand | null;
}

export function listAddress(context: PageContext, text: string): string {
  return context.to(withFilter("/messages", { q: text }));
}

export const EmailList: FC<EmailListProps> = (props) => {
  const { context, search, rows, faults } = props;
  const text = searchText(search.words);
  const actionAt = (path: string) => context.to(withFilter(path, { q: text }));
  const isList = faults.length === 0 && search.words.key === undefined;
  return (
    <>
      <Heading title="Messages" beside={<LiveMark stream={props.stream} />}>
        {context.may("email:send") ? (
          <LinkButton href={context.to("/messages/new")} label="New message" kind="primary" />
        ) : null}
        {isList ? <CsvButton context={context} path="/messages.csv" filter={{ q: text }} /> : null}
        {context.may("email:send") && isList && text !== "" && rows.length > 0 ? (
          <>
            <LinkButton href={actionAt("/messages/send-again")} label="Send all again…" asks />
            <LinkButton href={actionAt("/messages/cancel")} label="Cancel all…" kind="danger" asks />
          </>
        ) : null}
      </Heading>
      <SearchBox context={context} search={search} faults={faults} />
      {faults.length > 0 ? null : <MessageRows {...props} newer={0} />}
      {rows.length > 0 || faults.length > 0 ? null : (
        <NoRows
          isBuilding={context.readModelBuild !== null}
          nextCursor={props.nextCursor}
          empty={<NothingFound {...props} />}
        />
      )}
      <Pager context={context} path="/messages" nextCursor={props.nextCursor} filter={{ q: text }} />
    </>
  );
};

/** The statuses that people look for most. */
const SHORTCUTS = ["scheduled", "deferred", "bounced", "complained", "failed", "suppressed"] as const;

const ADDRESS_FIELDS = [
  { name: "to", label: "Recipient", placeholder: "ana@example.com" },
  { name: "from", label: "Sender", placeholder: "billing@example.com" },
] as const;

/** Nothing, or a day. */
const DAY = /^(\d{4}-\d{2}-\d{2})?$/;

const DAY_FIELDS = [
  { name: "after", label: "Accepted on or after (UTC)" },
  { name: "before", label: "Accepted before (UTC)" },
] as const;

const OTHER_FIELDS = [
  { name: "template", label: "Template id" },
  { name: "version", label: "Template version id" },
  { name: "apikey", label: "API key id" },
  { name: "tag", label: "Tag", placeholder: "welcome" },
  { name: "metadata", label: "Metadata", placeholder: "order=4711" },
  { name: "key", label: "Idempotency-Key", maxLength: 200 },
] as const;

/** The values to choose from; a list of several that was searched for is one of them, so the form keeps it. */
function choices(names: readonly string[], searched = "") {
  return searched.includes(",") ? [searched, ...names] : names;
}

const SearchBox: FC<Pick<EmailListProps, "context" | "search" | "faults">> = ({
  context,
  search,
  faults,
}) => {
  const { words } = search;
  return (
    <div class="search">
      <search>
        <form method="get" action={context.to("/messages")}>
          <label class="unseen" for="q">
            Search messages
          </label>
          <input
            id="q"
            name="q"
            type="search"
            value={faults.length > 0 ? search.text : searchText(words)}
            maxlength={SEARCH_CHARACTERS_MAX}
            placeholder="to:ana@example.com status:bounced after:2026-11-01"
            autocomplete="off"
            spellcheck={false}
            aria-describedby={faults.length > 0 ? "search-faults" : undefined}
            data-search
          />
          <button type="submit">Search</button>
        </form>
      </search>
      {faults.length === 0 ? null : (
        <div class="fault" id="search-faults" role="alert">
          {faults.map((fault) => (
            <p>{fault}</p>
          ))}
        </div>
      )}
      <p class="shortcuts">
        {SHORTCUTS.map((status) => (
          <a
            href={listAddress(context, searchText({ ...words, status }))}
            aria-current={words.status === status ? "true" : undefined}
          >
            {status}
          </a>
        ))}
        {searchText(words) === "" ? null : <a href={context.to("/messages")}>all</a>}
      </p>
      <details>
        <summary>Filters</summary>
        <form method="get" action={context.to("/messages")} class="filters">
          <input type="hidden" name="words" value="" />
          {ADDRESS_FIELDS.map((field) => (
            <Field {...field} type="email" value={words[field.name] ?? ""} />
          ))}
          <Select
            name="status"
            label="Status"
            value={words.status ?? ""}
            none="Any"
            options={choices(EMAIL_STATUSES, words.status)}
          />
          <Select
            name="reason"
            label="Reason"
            value={words.reason ?? ""}
            none="Any"
            options={choices(EMAIL_REASONS, words.reason)}
          />
          {DAY_FIELDS.map(({ name, label }) => {
            const value = words[name] ?? "";
            // A picker of days would lose a time, which a search can name too.
            return <Field {...{ name, label, value }} type={DAY.test(value) ? "date" : "text"} />;
          })}
          {OTHER_FIELDS.filter(({ name }) => name !== "metadata" || mayReadContent(context.principal)).map(
            (field) => (
              <Field {...field} value={words[field.name] ?? ""} />
            ),
          )}
          <p class="actions">
            <button type="submit">Search</button>
          </p>
        </form>
      </details>
    </div>
  );
};

interface MessageRowsProps
  extends Pick<EmailListProps, "context" | "now" | "search" | "rows" | "isFirstPage"> {
  /** Messages that have arrived since the list was shown. */
  readonly newer: number;
}

/**
 * The rows of a page. They stay the same messages, updated in place: new ones are counted above and shown on request,
 * so no row moves under the pointer.
 */
export const MessageRows: FC<MessageRowsProps> = ({ context, now, search, rows, isFirstPage, newer }) => {
  const text = searchText(search.words);
  const again = new URLSearchParams({
    q: text,
    ids: rows.map(({ id }) => id).join(","),
    ...(isFirstPage ? { first: "" } : {}),
  });
  return (
    <div id="message-rows" {...reloadedFrom(`${context.to("/messages/rows")}?${again}`)}>
      <p class="newer" role="status">
        {newer === 0 ? null : (
          <a class="button" href={listAddress(context, text)}>
            {newer >= NEW_SHOWN_MAX ? `${NEW_SHOWN_MAX}+` : newer} new
          </a>
        )}
      </p>
      {rows.length === 0 ? null : (
        <MessageTable context={context} label="Messages, newest first" messages={rows} now={now} />
      )}
    </div>
  );
};

interface MessageTableProps extends Pick<EmailListProps, "context" | "now"> {
  readonly label: string;
  readonly messages: readonly MessageRow[];
}

const SUBJECT: Column<MessageRow> = {
  title: "Subject",
  cell: ({ subject, to }) => (
    <span class="clip">{subject ?? <i class="soft">{to === null ? "erased" : "none"}</i>}</span>
  ),
};

/** Messages in rows: recipient, status, subject and time. */
export const MessageTable: FC<MessageTableProps> = ({ context, label, messages, now }) => (
  <RowTable
    label={label}
    rows={messages}
    idOf={({ id }) => id}
    linkOf={({ id }) => context.to(`/messages/${id}`)}
    columns={[
      {
        title: "Recipient",
        cell: ({ to }) => <span class="clip">{to ?? <i class="soft">erased</i>}</span>,
      },
      { title: "Status", cell: (row) => <RowStatus row={row} now={now} /> },
      ...(mayReadContent(context.principal) ? [SUBJECT] : []),
      { title: "Accepted", cell: ({ createdAt }) => <Time at={createdAt} /> },
    ]}
  />
);

const RowStatus: FC<{ readonly row: MessageRow; readonly now: EpochMs }> = ({
  row: { status, reason, scheduledAt },
  now,
}) => (
  <span title={reason === null ? undefined : reasonText(reason)}>
    {status === "scheduled" && scheduledAt !== null && scheduledAt > now ? (
      <>
        <Status status={status} /> <span class="soft minor">in {lengthOfTime(scheduledAt - now)}</span>
      </>
    ) : (
      <Status status={status} />
    )}
  </span>
);

const NothingFound: FC<EmailListProps> = ({ context, search, firstCommand }) => {
  if (searchText(search.words) !== "") {
    return (
      <Empty title="No message matches">
        {search.words.to === undefined && search.words.from === undefined ? null : (
          <p>
            Addresses must be complete: the log keeps them in a form that can be compared, but not searched in
            part.
          </p>
        )}
        <p>
          <a href={context.to("/messages")}>Show all messages</a>
        </p>
      </Empty>
    );
  }
  if (firstCommand === null) return <NoSender context={context} />;
  return (
    <Empty title="No message has been sent yet">
      {context.principal.isTest ? (
        <p>
          Send one with a test key, which begins with <code>pl_test_</code>. It appears here at once.{" "}
          {context.may("workspace:manage") ? (
            <a href={context.to("/api-keys/new")}>Create a test key</a>
          ) : null}
        </p>
      ) : (
        <p>
          Send the first one
          {context.may("email:send") ? (
            <>
              {" "}
              <a href={context.to("/messages/new")}>from here</a>, or
            </>
          ) : null}{" "}
          by a request. It appears here at once.
        </p>
      )}
      <pre>{firstCommand.text}</pre>
      {firstCommand.toComplete === null ? null : (
        <p>
          Put an address that exists there in place of <code>{firstCommand.toComplete}</code>.
        </p>
      )}
      <p>
        <a href={context.outside("/docs")}>API reference</a>
      </p>
    </Empty>
  );
};

/** How the operator adds a sender for this workspace: the first that the key is bound to, or an example. */
function commandsFor({ principal, workspaceId }: PageContext): string {
  const [name = "billing@acme.example"] = principal.senders ?? [];
  const rest = `${name} --workspace ${workspaceId}`;
  return `${POSTLEDGER} sender add ${rest}\n${POSTLEDGER} sender verify ${rest}`;
}

/** What to do first in a workspace, or with a key, that may send from no address. */
const NoSender: FC<Pick<EmailListProps, "context">> = ({ context }) => (
  <Empty title="No message has been sent yet">
    <p>
      {context.principal.senders === null
        ? "Mail can be sent from an address or a domain once it is verified. None was found that may send."
        : "None of the senders that this key is bound to is verified."}
    </p>
    {context.may("sender:manage") ? (
      <p>
        <a href={context.to("/senders")}>Add or verify a sender</a>
      </p>
    ) : (
      <>
        <p>Whoever runs the service can add and verify one:</p>
        <pre>{commandsFor(context)}</pre>
      </>
    )}
  </Empty>
);
