/** @jsxImportSource hono/jsx */
import {
  HTML_CHARACTERS_MAX,
  SUBJECT_CHARACTERS_MAX,
  TEXT_CHARACTERS_MAX,
} from "../../../domain/email/contentLimits.ts";
import { newId } from "../../../kernel/ids.ts";
import { ADDRESS_CHARACTERS_MAX } from "../../../kernel/text/emailAddress.ts";
import { BODY_BYTES_MAX, SMALL_BODY_BYTES_MAX } from "../../body/bodyLimits.ts";
import { EntryForm, Field, TextArea } from "../components/form.tsx";
import { Heading } from "../components/heading.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { fieldOf } from "../frame/formBody.ts";
import { type FormFaults, formFaults } from "../frame/formFaults.ts";
import { usableAddresses } from "../sender/usableAddresses.ts";
import { SendFormState } from "./sendFormState.tsx";
import { mailSwitchRefusal, nonceOf, sendFromForm, toAcceptedMessage } from "./sendFromForm.ts";

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

interface NewEmailForm {
  readonly nonce: string;
  /** Null if it was not submitted yet. */
  readonly faults: FormFaults | null;
}

async function newEmailPage(
  options: DashboardOptions,
  context: PageContext,
  { nonce, faults }: NewEmailForm,
): Promise<Page> {
  const above = context.may("email:read") ? { path: "/messages", title: "Messages" } : null;
  const addresses = await usableAddresses(options, context);
  const entered = (name: string) => fieldOf(context.form, name);
  const faultOf = (name: string) => faults?.fields[name];
  return {
    title: "New message",
    ...(above === null ? {} : { above: [above] }),
    ...(faults === null ? {} : { status: faults.status }),
    body: (
      <>
        <Heading title="New message" />
        <p>It is a message like any other: it counts, it is logged, and a suppressed recipient gets none.</p>
        {addresses.length > 0 ? null : (
          <p class="notice">
            No sender that may send was found.{" "}
            {context.may("sender:manage") ? (
              <a href={context.to("/senders")}>Add or verify a sender</a>
            ) : (
              "Whoever manages senders can add and verify one."
            )}
          </p>
        )}
        <EntryForm
          context={context}
          action={PATH}
          refusal={faults?.whole}
          verb="Send it"
          cancelTo={above?.path ?? "/"}
        >
          <SendFormState context={context} nonce={nonce} />
          <Field
            name="from"
            label="From"
            type="email"
            value={faults === null ? (addresses[0] ?? "") : entered("from")}
            suggestions={addresses}
            hint="A verified sender of this workspace, or an address of a verified domain."
            fault={faultOf("from")}
            maxLength={ADDRESS_CHARACTERS_MAX}
            isRequired
          />
          <Field
            name="to"
            label="To"
            type="email"
            value={entered("to")}
            fault={faultOf("to")}
            maxLength={ADDRESS_CHARACTERS_MAX}
            isRequired
          />
          <Field
            name="subject"
            label="Subject"
            value={entered("subject")}
            fault={faultOf("subject")}
            maxLength={SUBJECT_CHARACTERS_MAX}
            isRequired
          />
          <TextArea name="text" label="Text" rows={8} value={entered("text")} fault={faultOf("text")} />
          <TextArea
            name="html"
            label="HTML"
            hint="Optional. With HTML alone, the text is made from it."
            value={entered("html")}
            fault={faultOf("html")}
            isCode
          />
        </EntryForm>
      </>
    ),
  };
}

async function sendNewEmail(options: DashboardOptions, context: PageContext): Promise<Page | Response> {
  const { form } = context;
  const switched = mailSwitchRefusal(context);
  if (switched !== null)
    return newEmailPage(options, context, { nonce: switched.nonce, faults: formFaults(switched.problem) });
  if (fieldOf(form, "text") === "" && fieldOf(form, "html") === "") {
    const faults = { status: 422, fields: { text: "Write a text, or HTML." }, whole: null };
    return newEmailPage(options, context, { nonce: nonceOf(context), faults });
  }
  const outcome = await sendFromForm(options.deps, context, { body: bodyOf(context), keyPrefix: "new:" });
  if (outcome.kind === "accepted") return toAcceptedMessage(context, outcome, PATH);
  return newEmailPage(options, context, { nonce: outcome.nonce, faults: formFaults(outcome.problem) });
}

function bodyOf({ form }: PageContext): unknown {
  const html = fieldOf(form, "html");
  const text = fieldOf(form, "text");
  return {
    from: fieldOf(form, "from").trim(),
    to: fieldOf(form, "to").trim(),
    subject: fieldOf(form, "subject"),
    ...(html === "" ? {} : { html }),
    ...(text === "" ? { auto_text: true } : { text }),
  };
}
