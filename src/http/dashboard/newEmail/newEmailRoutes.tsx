/** @jsxImportSource hono/jsx */
import {
  HTML_CHARACTERS_MAX,
  SUBJECT_CHARACTERS_MAX,
  TEXT_CHARACTERS_MAX,
} from "../../../domain/email/contentLimits.ts";
import { SCHEDULE_AHEAD_MS_MAX } from "../../../domain/email/scheduledTime.ts";
import { newId } from "../../../kernel/ids.ts";
import { DAY_MS } from "../../../kernel/time.ts";
import { BODY_BYTES_MAX, SMALL_BODY_BYTES_MAX } from "../../body/bodyLimits.ts";
import { Field, TextArea } from "../components/form.tsx";
import { Heading } from "../components/heading.tsx";
import { timeOfField } from "../components/time.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { fieldOf, formFields, verbatimFieldOf } from "../frame/formBody.ts";
import { usableSenders } from "../sender/usableSenders.ts";
import { SendForm } from "./sendForm.tsx";
import { type SendFormState, sendFromForm } from "./sendFromForm.ts";

const PATH = "/messages/new";
const SCOPE = "email:send";
/** The most bytes that a form takes for one character: an emoji has four bytes, each sent as `%XX`. */
const CHARACTER_BYTES_MAX = 12;
/** Room for the longest html and text, however they are encoded, and the other fields; no more than the API takes. */
const FORM_BYTES_MAX = Math.min(
  CHARACTER_BYTES_MAX * (HTML_CHARACTERS_MAX + TEXT_CHARACTERS_MAX) + SMALL_BODY_BYTES_MAX,
  BODY_BYTES_MAX,
);

/** Writes a message and sends it. */
export function newEmailRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  return [
    get(PATH, SCOPE, (context) => newEmailPage(options, context, { nonce: newId(), faults: null })),
    { ...post(PATH, SCOPE, (context) => sendNewEmail(options, context)), formBytesMax: FORM_BYTES_MAX },
  ];
}

async function newEmailPage(
  options: DashboardOptions,
  context: PageContext,
  state: SendFormState,
): Promise<Page> {
  const above = context.may("email:status") ? { path: "/messages", title: "Messages" } : null;
  const senders = await usableSenders(options, context);
  const field = formFields(context.form, state.faults?.fields, verbatimFieldOf);
  return {
    title: "New message",
    ...(above === null ? {} : { above: [above] }),
    status: state.faults?.status,
    body: (
      <>
        <Heading title="New message" />
        {senders.addresses.length + senders.domains.length > 0 ? null : (
          <p class="notice">
            No sender that may send was found.{" "}
            {context.may("sender:manage") ? (
              <a href={context.to("/senders")}>Add or verify a sender</a>
            ) : (
              "Whoever manages senders can add and verify one."
            )}
          </p>
        )}
        <SendForm
          context={context}
          action={PATH}
          cancelTo={above?.path ?? "/"}
          senders={senders}
          state={state}
        >
          <Field {...field("subject")} label="Subject" maxLength={SUBJECT_CHARACTERS_MAX} isRequired />
          <TextArea {...field("text")} label="Text" rows={8} />
          <TextArea
            {...field("html")}
            label="HTML"
            hint="Optional. With HTML alone, the text is made from it."
            isCode
          />
          <Field
            {...field("scheduled_at")}
            label="Send at (UTC)"
            type="datetime-local"
            isUtc
            hint={`Leave empty to send now. At most ${SCHEDULE_AHEAD_MS_MAX / DAY_MS} days ahead.`}
          />
        </SendForm>
        {context.may("template:manage") ? (
          <p class="soft">
            To send a template, choose Test send on its page: <a href={context.to("/templates")}>Templates</a>
          </p>
        ) : null}
      </>
    ),
  };
}

function sendNewEmail(options: DashboardOptions, context: PageContext): Promise<Page | Response> {
  const isEmpty =
    verbatimFieldOf(context.form, "text") === "" && verbatimFieldOf(context.form, "html") === "";
  return sendFromForm(options.deps, context, {
    body: () => bodyOf(context),
    keyPrefix: "new:",
    missing: isEmpty ? { status: 422, fields: { text: "Write a text, or HTML." }, whole: null } : null,
    otherwiseTo: PATH,
    again: (state) => newEmailPage(options, context, state),
  });
}

function bodyOf({ form }: PageContext): unknown {
  const html = verbatimFieldOf(form, "html");
  const text = verbatimFieldOf(form, "text");
  const scheduledAt = fieldOf(form, "scheduled_at");
  return {
    from: fieldOf(form, "from"),
    to: fieldOf(form, "to"),
    subject: verbatimFieldOf(form, "subject"),
    ...(html === "" ? {} : { html }),
    ...(text === "" ? { auto_text: true } : { text }),
    ...(scheduledAt === "" ? {} : { scheduled_at: timeOfField(scheduledAt) }),
  };
}
