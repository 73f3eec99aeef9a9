/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import type { EmailView } from "../../../commands/email/readEmail.ts";
import { LinkButton } from "../components/button.tsx";
import { Heading } from "../components/heading.tsx";
import { Empty, NoRows, Pager, withFilter } from "../components/list.tsx";
import { SandboxedHtmlFrame } from "../components/sandboxedHtmlFrame.tsx";
import { Time } from "../components/time.tsx";
import type { MessageRow } from "../email/loadEmailRows.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { cursorForLink } from "../frame/listPaging.ts";
import { LiveMark, ON_CHANGE } from "../live/liveIndicator.tsx";

interface OutboxProps {
  readonly context: PageContext;
  readonly mails: readonly MessageRow[];
  /** The mail shown beside the list; null: none. */
  readonly opened: EmailView | null;
  readonly isPhoneWide: boolean;
  readonly cursor: string | null;
  readonly nextCursor: string | null;
  /** The address of the stream that says what is new. */
  readonly stream: string;
}

/** The address of the page of the outbox after `cursor`, with something opened. */
function outboxAddress(
  context: PageContext,
  {
    cursor,
    ...opened
  }: { readonly cursor: string | null; readonly open?: string | null; readonly width?: string },
): string {
  const page = cursor === null ? null : cursorForLink(context, cursor);
  return context.to(withFilter("/outbox", { cursor: page, ...opened }));
}

export const OutboxPage: FC<OutboxProps> = (props) => {
  const { context, mails, opened, cursor, nextCursor } = props;
  return (
    <>
      <Heading title="Outbox" beside={<LiveMark stream={props.stream} />} />
      <p class="soft">{leadOf(context)}</p>
      {mails.length === 0 && opened === null ? (
        <div
          id="outbox"
          hx-get={outboxAddress(context, { cursor })}
          hx-select="#outbox"
          hx-trigger={ON_CHANGE}
          hx-target="this"
          hx-swap="outerHTML"
        >
          <NoRows
            isBuilding={context.readModelBuild !== null}
            nextCursor={nextCursor}
            empty={<NoMail context={context} />}
          />
        </div>
      ) : (
        <div id="outbox" class={opened === null ? "outbox" : "outbox opened"}>
          <MailList {...props} />
          <Opened {...props} />
        </div>
      )}
      <Pager context={context} path="/outbox" nextCursor={nextCursor} />
    </>
  );
};

/** What the page shows. */
function leadOf({ mail, isOutbox }: PageContext): string {
  if (mail !== "live") return "Test mail is not written to files. Switch to live mail to see the outbox.";
  return isOutbox
    ? "Mail is written to files here and goes nowhere else: this is what would have been sent."
    : "Mail goes to the relay now. This is what was written to the outbox before.";
}

const NoMail: FC<Pick<OutboxProps, "context">> = ({ context }) =>
  context.isOutbox && context.mail === "live" ? (
    <Empty title="No mail yet">
      <p>Send a message with the API: it appears here within a second, as its recipient would see it.</p>
      <p>
        <a href={context.to("/messages")}>How to send a first one</a>
      </p>
    </Empty>
  ) : (
    <Empty title="No mail here">
      <p>
        <a href={context.to("/messages")}>Messages</a> lists{" "}
        {context.mail === "live" ? "the mail that goes to the relay" : "test mail and its outcome"}.
      </p>
    </Empty>
  );

const MailList: FC<OutboxProps> = ({ context, mails, opened, cursor }) => (
  <ul
    id="mails"
    class="mails"
    aria-label="Mails, newest first"
    hx-get={outboxAddress(context, { cursor, open: opened?.id ?? null })}
    hx-select="#mails"
    hx-trigger={ON_CHANGE}
    hx-target="this"
    hx-swap="outerMorph"
  >
    {mails.map(({ id, to, subject, snippet, createdAt }) => (
      <li id={`row-${id}`}>
        <a
          href={outboxAddress(context, { cursor, open: id })}
          data-row={id}
          aria-current={opened?.id === id ? "true" : undefined}
        >
          <span class="mail-top">
            <span class="clip">{to ?? "erased"}</span>
            <Time at={createdAt} />
          </span>
          <strong class="clip">{subject ?? "erased"}</strong>
          <span class="clip soft">{snippet}</span>
        </a>
      </li>
    ))}
  </ul>
);

const Opened: FC<OutboxProps> = ({ context, opened, isPhoneWide, cursor }) => {
  if (opened === null)
    return (
      <section class="mail nothing soft">
        Choose a mail<span class="with-script">: J and K move, Enter opens</span>.
      </section>
    );
  const { id, content } = opened;
  const at = context.to(`/messages/${id}`);
  if (content === null) return <section class="mail">The content of this mail was erased.</section>;
  const own = { cursor, open: id };
  return (
    <section class="mail" aria-label="Mail">
      <p class="mail-bar">
        <a href={outboxAddress(context, { cursor })} data-back>
          Close
        </a>
        {content.html === undefined ? null : (
          <span class="widths">
            <a href={outboxAddress(context, own)} aria-current={isPhoneWide ? undefined : "true"}>
              Desktop
            </a>
            <a
              href={outboxAddress(context, { ...own, width: "phone" })}
              aria-current={isPhoneWide ? "true" : undefined}
            >
              Phone
            </a>
          </span>
        )}
        <a href={at}>Timeline, source, headers</a>
      </p>
      <h2>{content.subject || "(no subject)"}</h2>
      <p class="soft">
        {content.fromName ? `${content.fromName} ` : ""}
        {content.from} to {content.to}, <Time at={opened.email.acceptedAt} />
      </p>
      {(content.attachments ?? []).length === 0 ? null : (
        <p class="actions">
          {(content.attachments ?? []).map(({ filename }, index) => (
            <LinkButton href={`${at}/files/${index}`} label={filename} />
          ))}
        </p>
      )}
      {content.html === undefined ? (
        <pre class="paper">{content.text}</pre>
      ) : (
        <SandboxedHtmlFrame src={`${at}/body.html`} title="The HTML of the mail" isPhoneWide={isPhoneWide} />
      )}
    </section>
  );
};
