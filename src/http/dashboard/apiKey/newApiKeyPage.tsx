/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import { PERSON_CHARACTERS_MAX } from "../../../domain/apiKey/person.ts";
import { SCOPES, TEST_SCOPES } from "../../../domain/apiKey/scopes.ts";
import { SHOWN_NAME_CHARACTERS_MAX } from "../../../kernel/text/displayNameFault.ts";
import { epochMs } from "../../../kernel/time.ts";
import { CheckBox, EntryForm, Field, TextArea } from "../components/form.tsx";
import { Heading } from "../components/heading.tsx";
import { Day, fieldTime, Time, timeOfField } from "../components/time.tsx";
import type { Page, PageContext } from "../frame/dashboardRoute.ts";
import { formFields } from "../frame/formBody.ts";
import type { FormFaults } from "../frame/formFaults.ts";
import { API_KEYS, type ApiKeyJson, LastingCommand, SCOPE_MEANINGS } from "./apiKeyPage.tsx";

interface NewApiKeyForm {
  readonly issuer: ApiKeyJson;
  /** Whether people can log in without a secret, so that a key can be a person's. */
  readonly hasLoginProxy: boolean;
}

/**
 * The form that creates a key. `issuer` is the session's key, which cannot give more than it has: the form starts with
 * its restrictions.
 */
export function newApiKeyPage(
  context: PageContext,
  { issuer, hasLoginProxy }: NewApiKeyForm,
  faults?: FormFaults,
): Page {
  const { form } = context;
  const field = formFields(form, faults?.fields);
  const expiry = field("expires_at", issuer.expires_at === null ? "" : fieldTime(issuer.expires_at));
  return {
    title: "Create an API key",
    above: API_KEYS,
    status: faults?.status,
    body: (
      <>
        <Heading title="Create an API key" />
        {issuer.expires_at === null ? null : <Bounded context={context} expiresAt={issuer.expires_at} />}
        <EntryForm
          context={context}
          action="/api-keys/new"
          refusal={faults?.whole}
          verb={
            issuer.expires_at === null ? "Create" : <UntilThen expiry={expiry} latest={issuer.expires_at} />
          }
          cancelTo="/api-keys"
        >
          <Field
            {...field("name")}
            label="Name"
            hint="What it is for: the service or the person that will use it."
            maxLength={SHOWN_NAME_CHARACTERS_MAX}
            isRequired
          />
          {hasLoginProxy ? (
            <Field
              {...field("person")}
              label="Person"
              hint="Who logs in with it: an email address or a user name, as your single sign-on has it. The key is then shown to nobody. Empty: it is for whoever has it."
              maxLength={PERSON_CHARACTERS_MAX}
            />
          ) : null}
          <CheckBox
            name="test"
            value="true"
            isChecked={form.get("test") === "true"}
            label={
              <>
                Test key{" "}
                <span class="soft">
                  Its mail is only simulated, and listed separately. It can hold {TEST_SCOPES.join(", ")}.
                </span>
              </>
            }
          />
          <Scopes context={context} fault={faults?.fields.scopes} />
          <Field
            {...expiry}
            label="Expires (UTC)"
            type="datetime-local"
            isUtc
            hint={
              issuer.expires_at === null
                ? "Empty: never."
                : "No later than the key that you are logged in with."
            }
          />
          <TextArea
            {...field("senders", issuer.senders?.join("\n"))}
            label="May send from"
            rows={3}
            hint="Addresses and domains, one per line. Empty: every sender of the workspace."
            isCode
          />
          <TextArea
            {...field("client_ranges", issuer.client_ranges?.join("\n"))}
            label="Accepted from"
            rows={3}
            hint="IP addresses and ranges such as 203.0.113.0/24, one per line. Empty: every address."
            isCode
          />
        </EntryForm>
      </>
    ),
  };
}

const Scopes: FC<{ readonly context: PageContext; readonly fault: string | undefined }> = ({
  context,
  fault,
}) => (
  <fieldset aria-describedby={fault && "scopes-fault"}>
    <legend>What it may do</legend>
    {SCOPES.filter((scope) => context.may(scope)).map((scope) => (
      <CheckBox
        name="scopes"
        value={scope}
        isChecked={context.form.getAll("scopes").includes(scope)}
        label={
          <>
            <code>{scope}</code> <span class="soft">{SCOPE_MEANINGS[scope]}</span>
          </>
        }
      />
    ))}
    {fault ? (
      <span class="fault" id="scopes-fault">
        {fault}
      </span>
    ) : null}
  </fieldset>
);

const Bounded: FC<{ readonly context: PageContext; readonly expiresAt: string }> = ({
  context,
  expiresAt,
}) => (
  <div class="notice">
    <p>
      A key that you create here stops working at <Time at={expiresAt} /> or earlier, because the key that you
      are logged in with expires then, and no key outlives the one that made it. For a lasting key, log in
      with one that lasts, or run this where the service runs:
    </p>
    <p>
      <LastingCommand context={context} />
    </p>
  </div>
);

interface UntilThenProps {
  /** The form's field. */
  readonly expiry: { readonly name: string; readonly value: string };
  /** When the session's key expires, RFC 3339. */
  readonly latest: string;
}

/** What the button does, so that nobody overlooks when the key ends. */
const UntilThen: FC<UntilThenProps> = ({ expiry, latest }) => {
  const typed = timeOfField(expiry.value);
  return (
    <>
      Create, valid until <Day at={Number.isNaN(epochMs(typed)) ? latest : typed} follows={expiry.name} />
    </>
  );
};
