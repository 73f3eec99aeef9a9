/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import type { EmailQuery } from "../../../../projections/emails/queries.ts";
import { isUuid } from "../../../kernel/ids.ts";
import { capitalized } from "../../../kernel/text/capitalized.ts";
import { counted, grouped } from "../../../kernel/text/readableNumbers.ts";
import { wholeNumber } from "../../../kernel/text/wholeNumber.ts";
import { epochMs, rfc3339 } from "../../../kernel/time.ts";
import { waitingOf } from "../../email/cancelEmails.ts";
import { type ListSource, whenCaughtUp } from "../../lists/caughtUpReads.ts";
import { scopeText } from "../../server/authorization.ts";
import { Problem, refusedFor } from "../../server/problem.ts";
import { LinkButton } from "../components/button.tsx";
import { confirmationPage } from "../components/confirmationPage.tsx";
import { CheckBox, HiddenFields, PostForm } from "../components/form.tsx";
import { Heading } from "../components/heading.tsx";
import { withFilter } from "../components/list.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { CANCELED_MAX, cancelBatch } from "./cancelBatch.ts";
import { listAddress } from "./emailListPage.tsx";
import { queryOfSearch } from "./emailSearch.ts";
import { catchUp, countMatching, type MatchCount } from "./loadEmailRows.ts";
import type { BatchResult } from "./matchingBatch.ts";
import { BATCH_MAX, sendBatchAgain } from "./sendBatchAgain.ts";

const SEND_AGAIN = "/messages/send-again";
const CANCEL = "/messages/cancel";
/** Instead of a form's nonce: what was never sent again goes only once, however many people ask at the same time. */
const FIRST = "dashboard-first";

/** Actions on all messages that match a search. They ask once, with the number, and go on step by step. */
export function matchingEmailsRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  const asked = ({ query }: PageContext) => query.get("q") ?? "";
  return [
    get(SEND_AGAIN, "email:send", (context) => confirmSendAgain(options, context, asked(context))),
    post(SEND_AGAIN, "email:send", (context) => sendAllAgain(options, context)),
    get(CANCEL, "email:send", (context) => confirmCancel(options, context, asked(context))),
    post(CANCEL, "email:send", (context) => cancelAll(options, context)),
  ];
}

/** The query of what is to be changed: never everything there is, for want of a filter. */
function queryToChange(source: ListSource, context: PageContext, text: string): Omit<EmailQuery, "limit"> {
  if (!context.may("email:status"))
    throw new Problem("FORBIDDEN", { detail: `to find messages needs ${scopeText("email:status")} too` });
  if (text.trim() !== "") return queryOfSearch(source.deps, context.principal, text);
  throw new Problem("INVALID_REQUEST", { detail: "search first: only what matches a search is changed" });
}

function above(text: string) {
  return [{ path: withFilter("/messages", { q: text }), title: "Messages" }];
}

/** What the form of a confirmation repeats. */
function confirmed({ deps }: ListSource, { mail }: PageContext, text: string) {
  return { q: text, until: rfc3339(deps.clock.now()), nonce: crypto.randomUUID(), mail };
}

/** “300 messages”; where not all have been counted, “at least 1,000 messages”, or that nobody knows how many. */
function messagesText({ count, isAll }: MatchCount): string {
  if (isAll) return counted(count, "message");
  return count === 0 ? "an unknown number of messages" : `at least ${counted(count, "message")}`;
}

/** Whether it is known that there is nothing to change. */
function isNothing({ count, isAll }: MatchCount): boolean {
  return count === 0 && isAll;
}

async function confirmSendAgain(source: ListSource, context: PageContext, text: string): Promise<Page> {
  const query = queryToChange(source, context, text);
  await catchUp(source.readModel("emails"));
  const all = await countMatching(source, query);
  const first = await countMatching(source, { ...query, isNeverAgain: true });
  return confirmationPage(context, {
    title: "Send all again",
    question: isNothing(all) ? "Nothing matches" : `Send ${messagesText(first)} again?`,
    above: above(text),
    verb: isNothing(all) ? null : "Send again",
    isDangerous: true,
    text: (
      <>
        <p>
          Every message that matches <code>{text}</code> and was accepted before now is sent once more,
          whatever became of it, as a new message that names the old one. Its content goes out as rendered
          then, not with the present template. At most {BATCH_MAX} go at once. A recipient who already has one
          gets it again: mail that has left cannot be taken back. Messages whose content was erased, or whose
          files have expired, are left out.
        </p>
        <p>
          {capitalized(messagesText(all))} {all.count === 1 ? "matches" : "match"}. Those that were sent again
          to their recipient before are left out, and so are these repeats, unless they bounced, failed or
          were suppressed.
        </p>
        <CheckBox name="all" value="true" label="Send these once more, too" />
        <HiddenFields values={confirmed(source, context, text)} />
      </>
    ),
  });
}

async function confirmCancel(source: ListSource, context: PageContext, text: string): Promise<Page> {
  const query = queryToChange(source, context, text);
  await catchUp(source.readModel("emails"));
  const all = await countMatching(source, query);
  const waiting = await countMatching(source, waitingOf(query));
  return confirmationPage(context, {
    title: "Cancel all",
    question: isNothing(waiting) ? "Nothing waits to be canceled" : `Cancel ${messagesText(waiting)}?`,
    above: above(text),
    verb: isNothing(waiting) ? null : "Cancel the messages",
    isDangerous: true,
    text: (
      <>
        <p>
          {capitalized(messagesText(all))} {all.count === 1 ? "matches" : "match"} <code>{text}</code>. Those
          that still wait are canceled, {grouped(CANCELED_MAX)} at a time: they are not sent, and cannot be
          un-canceled; their content can be sent again as new messages. Messages that have left, or that are
          being delivered now, stay as they are.
        </p>
        <HiddenFields values={confirmed(source, context, text)} />
      </>
    ),
  });
}

/** A form of ours about what matches a search. */
interface Asked {
  readonly text: string;
  readonly nonce: string;
  /** Without what was accepted since the question. */
  readonly query: Omit<EmailQuery, "limit">;
  /** Where the step before ended; null for the first. */
  readonly cursor: string | null;
  /** Messages done in the steps before. */
  readonly doneBefore: number;
  /** What the form of the next step repeats. */
  readonly fields: Readonly<Record<string, string>>;
}

/** What a form asks for; null if its question was about the other kind of mail. */
function askedIn(source: ListSource, context: PageContext): Asked | null {
  const { form, mail } = context;
  if (form.get("mail") !== mail) return null;
  const text = form.get("q") ?? "";
  const until = form.get("until") ?? "";
  const nonce = form.get("nonce") ?? "";
  if (Number.isNaN(epochMs(until)) || !isUuid(nonce)) throw refusedFor("INVALID_REQUEST", []);
  const query = queryToChange(source, context, text);
  const before = [query.createdBefore, until].filter((time) => time !== undefined).sort()[0] ?? until;
  return {
    ...{ text, nonce, cursor: form.get("cursor") },
    doneBefore: wholeNumber(form.get("done") ?? "") ?? 0,
    query: { ...query, createdBefore: before },
    fields: { q: text, until, nonce, mail },
  };
}

async function sendAllAgain(source: ListSource, context: PageContext): Promise<Page> {
  const asked = askedIn(source, context);
  if (asked === null) return confirmSendAgain(source, context, context.form.get("q") ?? "");
  const isAll = context.form.get("all") === "true";
  // What was just sent again must be known as such.
  if (!isAll) await whenCaughtUp(source.readModel("emails"));
  const batch = isAll
    ? asked
    : { ...asked, query: { ...asked.query, isNeverAgain: true as const }, nonce: FIRST };
  const result = await sendBatchAgain(source, context, batch);
  const fields = isAll ? { ...asked.fields, all: "true" } : asked.fields;
  return reportPage(context, { ...asked, fields }, { result, action: SEND_AGAIN, done: "sent again" });
}

async function cancelAll(source: ListSource, context: PageContext): Promise<Page> {
  const asked = askedIn(source, context);
  if (asked === null) return confirmCancel(source, context, context.form.get("q") ?? "");
  const result = await cancelBatch(source, context, asked);
  return reportPage(context, asked, { result, action: CANCEL, done: "canceled" });
}

interface Step {
  readonly result: BatchResult;
  readonly action: string;
  /** What became of the messages. */
  readonly done: "sent again" | "canceled";
}

function reportPage(context: PageContext, { text, fields, doneBefore }: Asked, step: Step): Page {
  const title = step.done === "canceled" ? "Canceled" : "Sent again";
  return {
    title,
    above: above(text),
    body: (
      <>
        <Heading title={title} />
        <StepReport {...{ context, fields, doneBefore, ...step }} listAt={listAddress(context, text)} />
      </>
    ),
  };
}

interface StepReportProps extends Step, Pick<Asked, "fields" | "doneBefore"> {
  readonly context: PageContext;
  readonly listAt: string;
}

const StepReport: FC<StepReportProps> = ({ context, fields, doneBefore, listAt, result, action, done }) => (
  <>
    <p>
      {counted(result.done, "message was", "messages were")} {done}
      {doneBefore === 0 ? "" : `, ${grouped(doneBefore + result.done)} in all`}
      {result.skipped === 0 ? "" : `; ${grouped(result.skipped)} could not be`}.
    </p>
    {result.refusals.length === 0 ? null : (
      <ul>
        {result.refusals.map(({ id, why }) => (
          <li>
            <a href={context.to(`/messages/${id}`)}>{id}</a>: {why}
          </li>
        ))}
      </ul>
    )}
    {result.nextCursor === null ? (
      <p class="actions">
        <LinkButton href={listAt} label="To the messages" />
      </p>
    ) : (
      <PostForm context={context} action={action} class="actions">
        <HiddenFields
          values={{ ...fields, cursor: result.nextCursor, done: String(doneBefore + result.done) }}
        />
        <span>More may match.</span>
        <button type="submit" class="danger">
          Go on with the next
        </button>
      </PostForm>
    )}
  </>
);
