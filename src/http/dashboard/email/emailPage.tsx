/** @jsxImportSource hono/jsx */
import type { Child, FC } from "hono/jsx";
import { sendingKeyId } from "../../../commands/email/emailHistory.ts";
import { AT_END } from "../../../domain/email/contentErasure.ts";
import { METADATA_INDEXED_MAX } from "../../../domain/email/contentLimits.ts";
import { messageIdOf } from "../../../domain/email/messageId.ts";
import { type EmailStatus, isWaiting } from "../../../domain/email/state.ts";
import type { Waiting } from "../../../domain/email/waitingReason.ts";
import type { EpochMs } from "../../../kernel/time.ts";
import type { ShownEmail } from "../../email/redactEmail.ts";
import { ActionButton, LinkButton } from "../components/button.tsx";
import { Heading } from "../components/heading.tsx";
import { Copyable, type Fact, Facts } from "../components/list.tsx";
import { Status } from "../components/status.tsx";
import { Ago, Time } from "../components/time.tsx";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { CHANGED, LiveMark, reloadedFrom } from "../live/liveIndicator.tsx";
import { messageStream } from "../live/liveRoutes.ts";
import { listAddress } from "./emailListPage.tsx";
import { metadataSearch, searchText } from "./emailSearch.ts";
import { COMPLAINED, reasonText } from "./reasonText.ts";
import { whyNotAgain } from "./refusalText.ts";
import { sourceText } from "./timelineEntries.ts";

/** The parts of a message's page, in the order of their tabs. */
export const PARTS = ["timeline", "html", "text", "headers", "files"] as const;
export type Part = (typeof PARTS)[number];

const PART_TITLES: Readonly<Record<Part, string>> = {
  timeline: "Timeline",
  html: "HTML",
  text: "Text",
  headers: "Headers",
  files: "Attachments",
};

interface EmailPageProps {
  readonly context: PageContext;
  readonly view: ShownEmail;
  readonly waiting: Waiting | null;
  /** Since when mail to its recipient is suppressed; null if it is not, or that does not matter here. */
  readonly suppressedSince: string | null;
  /** Null if it has no template with an alias. */
  readonly templateAlias: string | null;
  readonly now: EpochMs;
  readonly part: Part;
  /** The content of the part. */
  readonly children: Child;
}

/** One message: on top why it waits or how it ended, then its parts. */
export const EmailPage: FC<EmailPageProps> = (props) => {
  const { context, view, part } = props;
  const { id, email, content } = view;
  const at = context.to(`/messages/${id}`);
  return (
    <div id="message" {...reloadedFrom(addressOf(at, part), CHANGED)}>
      <Heading
        title={titleOf(view)}
        beside={
          <>
            <Status status={email.status} />
            <LiveMark stream={messageStream(context, id, view.events.at(-1)?.sequence ?? 0)} />
          </>
        }
      >
        <Actions {...props} />
      </Heading>
      <Standing {...props} />
      <div class="message-facts">
        <Facts facts={factsOf(props)} />
        <CallerFacts id="own-headers" title="Your headers" values={content?.headers ?? {}} />
        <CallerFacts
          id="metadata"
          title="Metadata"
          values={content?.metadata ?? {}}
          shown={(name, value, index) => metadataValue(context, [name, value], index)}
        />
      </div>
      {content === null || view.isContentShown ? null : (
        <p class="soft">
          This key sees what became of the message. To see what it says needs the scope{" "}
          <code>email:read</code>.
        </p>
      )}
      <nav class="tabs" aria-label="Parts of the message">
        {PARTS.filter((name) => isShown(name, view)).map((name) => (
          <a href={addressOf(at, name)} aria-current={name === part ? "page" : undefined}>
            {PART_TITLES[name]}
            {name === "files" ? ` (${content?.attachments?.length ?? 0})` : ""}
          </a>
        ))}
        <span class="tabs-end">
          {isShown("headers", view) && whyNotAgain(view) === null ? (
            <a href={`${at}/source.eml`}>Download MIME</a>
          ) : null}
        </span>
      </nav>
      {props.children}
    </div>
  );
};

function titleOf({ content, isContentShown }: ShownEmail): string {
  if (content === null) return "Message without content";
  return content.subject || (isContentShown ? "(no subject)" : "Message");
}

export function addressOf(messageAt: string, part: Part): string {
  return part === "timeline" ? messageAt : `${messageAt}?show=${part}`;
}

/** Whether the message has this part, and the key may see it. */
export function isShown(part: Part, { content, isContentShown }: ShownEmail): boolean {
  if (part === "timeline") return true;
  if (content === null) return false;
  if (part === "html") return content.html !== undefined;
  if (part === "text") return content.text !== undefined;
  return part === "headers" ? isContentShown : (content.attachments ?? []).length > 0;
}

const Actions: FC<EmailPageProps> = ({ context, view }) => {
  const { id, email, content } = view;
  if (!context.may("email:send")) return null;
  const at = context.to(`/messages/${id}`);
  return (
    <>
      {content === null ? null : <SendAgain at={at} view={view} />}
      {email.status === "scheduled" ? (
        <LinkButton href={`${at}/reschedule`} label="Reschedule…" asks />
      ) : null}
      {isWaiting(email.status) && !email.ambiguous ? (
        <LinkButton href={`${at}/cancel`} label="Cancel…" asks />
      ) : null}
      {email.contentErased ? null : (
        <LinkButton href={`${at}/erase`} label="Erase content…" kind="danger" asks />
      )}
    </>
  );
};

/** Without the files of its message it offers nothing, and says why. */
const SendAgain: FC<{ readonly at: string; readonly view: ShownEmail }> = ({ at, view }) => {
  const missing = whyNotAgain(view);
  return missing === null ? (
    <LinkButton href={`${at}/send-again`} label="Send again…" asks />
  ) : (
    <span class="soft">Cannot be sent again: {missing}.</span>
  );
};

const WAITING_TITLES: Readonly<Record<Waiting["reason"], string>> = {
  in_queue: "In the queue",
  being_delivered: "Being delivered",
  scheduled: "Scheduled",
  retry_scheduled: "Waiting for the next attempt",
  relay_unavailable: "Waiting for the relay",
  content_store_unavailable: "Waiting for the content store",
  sending_paused: "Waiting: sending is paused",
  sender_unavailable: "Waiting for its sender",
  delivery_unknown: "Waiting for a decision",
  held_after_restore: "Held since the log was restored or lost events",
  delivery_off: "Waiting: delivery is off",
  disk_full: "Waiting for room on the disk",
};

/** The word before a reason's time; by default "Next:". */
const UNTIL_WORDS: Readonly<Partial<Record<Waiting["reason"], string>>> = {
  being_delivered: "Until",
  scheduled: "It goes out",
};

/** Why it waits, until when, and what can be done; or how it ended, in words. */
const Standing: FC<EmailPageProps> = (props) => {
  const { waiting, view, context, now } = props;
  if (waiting === null) return <Ended {...props} />;
  const isDueLater = view.email.status === "deferred" && view.email.nextAttemptAt > now;
  const isTryable = context.may("email:send") && (isDueLater || view.email.isDeliveryUnknown);
  const said = lastReply(view);
  return (
    <section class="standing waiting" aria-label="Why it waits">
      <div>
        <h2>
          {WAITING_TITLES[waiting.reason]} <code class="soft">{waiting.reason}</code>
        </h2>
        {waiting.reason === "scheduled" ? null : <p>{waitingDetail(waiting)}</p>}
        {said ? <pre class="said">{said}</pre> : null}
        {waiting.until === null ? null : (
          <p>
            {UNTIL_WORDS[waiting.reason] ?? "Next:"} <Ago at={waiting.until} now={now} />,{" "}
            <Time at={waiting.until} />
          </p>
        )}
        {waiting.reason === "delivery_unknown" ? (
          <p>Trying it now may deliver it twice; the second copy has the same Message-ID.</p>
        ) : null}
      </div>
      {waiting.reason === "scheduled" && context.may("email:send") ? (
        <ActionButton
          context={context}
          action={`/messages/${view.id}/send-now`}
          verb="Send now"
          kind="primary"
        />
      ) : null}
      {isTryable ? (
        <ActionButton
          context={context}
          action={`/messages/${view.id}/try-now`}
          verb="Try now"
          kind="primary"
        />
      ) : null}
    </section>
  );
};

function waitingDetail({ detail, lastDeferral }: Waiting): string {
  return lastDeferral === undefined ? detail : `It was deferred. ${reasonText(lastDeferral)}`;
}

/** What the relay said when it deferred the message; undefined if it was deferred for another reason since. */
function lastReply({ email, events }: ShownEmail): string | undefined {
  if (email.status !== "deferred") return undefined;
  const last = events.findLast(({ event }) => event.type === "EmailDeferred")?.event;
  return last?.type === "EmailDeferred" ? last.data.reply : undefined;
}

/** The events of the statuses with which a message ends badly. */
const BAD_ENDS: Readonly<Partial<Record<EmailStatus, string>>> = {
  bounced: "EmailBounced",
  failed: "EmailFailed",
  suppressed: "EmailSuppressed",
  complained: "EmailComplained",
};

/** The event that gave the message its status; later reports change nothing about it. */
function badEnd({ email, events }: ShownEmail) {
  return events.find(({ event }) => event.type === BAD_ENDS[email.status])?.event;
}

/** Whether a message ended in a way that its page explains. */
export function endsBadly(view: ShownEmail): boolean {
  return badEnd(view) !== undefined;
}

const Ended: FC<EmailPageProps> = ({ view, context, suppressedSince }) => {
  const { email, content } = view;
  const ended = badEnd(view);
  if (ended === undefined || !("reason" in ended.data || ended.type === "EmailComplained")) return null;
  const [title, word] =
    "reason" in ended.data ? [reasonText(ended.data.reason), ended.data.reason] : [COMPLAINED, email.status];
  const said = "reply" in ended.data ? ended.data.reply : undefined;
  const isLookedUp = email.status === "suppressed" || suppressedSince !== null;
  // Who reported it after the relay had accepted it: by a returned mail, or as a complaint.
  const source = "source" in ended.data ? ended.data.source : undefined;
  return (
    <section
      class={`standing ${email.status === "suppressed" ? "quiet" : "bad"}`}
      aria-label="What became of it"
    >
      <div>
        <h2>
          {title} <code class="soft">{word}</code>
        </h2>
        {source === undefined ? null : <p>{sourceText(source)}</p>}
        {said ? <pre class="said">{said}</pre> : null}
        {suppressedSince === null || email.status === "suppressed" ? null : (
          <p>
            The address is suppressed since <Time at={suppressedSince} />: no further mail to it is delivered.
          </p>
        )}
      </div>
      {isLookedUp && content !== null && context.may("suppression:manage") ? (
        <LinkButton
          href={context.to(`/suppressions?${new URLSearchParams({ address: content.to })}`)}
          label="Look it up"
        />
      ) : null}
    </section>
  );
};

/** An address, or an id, with its name. */
function named(name: string | undefined, link: Child): Child {
  return name === undefined ? (
    link
  ) : (
    <>
      {name} · {link}
    </>
  );
}

interface CallerFactsProps {
  readonly id: string;
  readonly title: string;
  readonly values: Readonly<Record<string, unknown>>;
  /** How a value is shown; by default as its text. */
  readonly shown?: (name: string, value: string, index: number) => Child;
}

/** What the caller has set, apart from what the service says: the caller's names may be the same. */
const CallerFacts: FC<CallerFactsProps> = ({ id, title, values, shown = (_, value) => value }) => {
  const facts = Object.entries(values).map(([name, value], index): Fact => {
    return [name, shown(name, String(value), index)];
  });
  return facts.length === 0 ? null : (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <Facts facts={facts} />
    </section>
  );
};

/** A value of metadata. It leads to all messages with the same pair, if that can be searched for. */
function metadataValue(context: PageContext, [name, value]: readonly [string, string], index: number): Child {
  const search = index < METADATA_INDEXED_MAX ? metadataSearch(name, value) : null;
  return search === null ? value : <a href={listAddress(context, search)}>{value}</a>;
}

/** What becomes of content that is kept until the end alone. A request may have erased it before. */
function contentText({ contentErased, erasedFor }: ShownEmail["email"]): string {
  if (!contentErased) return "Erased as soon as the message has ended, as its send asked";
  return erasedFor?.reason === AT_END ? "Erased when the message had ended, as its send asked" : "Erased";
}

function factsOf({ context, view, templateAlias }: EmailPageProps): readonly Fact[] {
  const { id, email, content } = view;
  const search = (name: "to" | "from" | "template" | "version" | "apikey" | "tag", value: string) => (
    <a href={listAddress(context, searchText({ [name]: value }))}>{value}</a>
  );
  const erased = <i class="soft">erased</i>;
  const apiKeyId = sendingKeyId(view);
  return [
    ["To", content === null ? erased : named(content.toName, search("to", content.to))],
    ["From", content === null ? erased : named(content.fromName, search("from", content.from))],
    ["Reply to", content?.replyTo === undefined ? null : named(content.replyToName, content.replyTo)],
    ["Accepted", <Time at={email.acceptedAt} />],
    ["Scheduled", email.scheduledAt === null ? null : <Time at={email.scheduledAt} />],
    ["Deliver before", email.deliverBefore === null ? null : <Time at={email.deliverBefore} />],
    ["Content", email.isErasedAtEnd ? contentText(email) : null],
    ["Attempts", String(email.attempts)],
    [
      "Template",
      email.templateId === null
        ? null
        : named(templateAlias ?? undefined, search("template", email.templateId)),
    ],
    [
      "Template version",
      email.templateVersionId === null ? null : search("version", email.templateVersionId),
    ],
    [
      "Again",
      email.againOf === null ? null : (
        <>
          the content of <a href={context.to(`/messages/${email.againOf}`)}>{email.againOf}</a>, sent again
        </>
      ),
    ],
    ["API key", apiKeyId === null ? null : search("apikey", apiKeyId)],
    ["Tags", content?.tags === undefined ? null : content.tags.map((tag) => <>{search("tag", tag)} </>)],
    ["Id", <Copyable text={id} label="the id" />],
    [
      "Message-ID",
      content === null ? null : <Copyable text={messageIdOf(id, content.from)} label="the Message-ID" />,
    ],
  ];
}
