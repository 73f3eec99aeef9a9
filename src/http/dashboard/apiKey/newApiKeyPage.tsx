/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import { SCOPES, TEST_SCOPES } from "../../../domain/apiKey/scopes.ts";
import { POSTLEDGER } from "../../../kernel/text/cliInvocation.ts";
import { SHOWN_NAME_CHARACTERS_MAX } from "../../../kernel/text/displayNameFault.ts";
import { CheckBox, EntryForm, Field, TextArea } from "../components/form.tsx";
import { Heading } from "../components/heading.tsx";
import { Time } from "../components/time.tsx";
import type { Page, PageContext } from "../frame/dashboardRoute.ts";
import type { FormFaults } from "../frame/formFaults.ts";
import { API_KEYS, type ApiKeyJson, SCOPE_MEANINGS } from "./apiKeyPage.tsx";

/** The input of the form that creates a key, and its faults. */
export interface NewApiKeyForm {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expiresAt: string;
  /** One per line. */
  readonly senders: string;
  readonly clientRanges: string;
  readonly isTest: boolean;
  readonly faults: FormFaults | null;
}

/** The length of `2030-01-31T12:00`, the value of a time field. */
export const FIELD_TIME_CHARACTERS = 16;

/** A new key starts with its issuer's restrictions: it may have more of them, but not fewer. */
function emptyForm({ expires_at: expiresAt, senders, client_ranges: ranges }: ApiKeyJson): NewApiKeyForm {
  return {
    name: "",
    scopes: [],
    expiresAt: expiresAt?.slice(0, FIELD_TIME_CHARACTERS) ?? "",
    senders: senders?.join("\n") ?? "",
    clientRanges: ranges?.join("\n") ?? "",
    isTest: false,
    faults: null,
  };
}

/** The form that creates a key. `issuer` is the session's key, which cannot give more than it has. */
export function newApiKeyPage(context: PageContext, issuer: ApiKeyJson, form = emptyForm(issuer)): Page {
  const { faults } = form;
  return {
    title: "Create an API key",
    above: API_KEYS,
    ...(faults && { status: faults.status }),
    body: (
      <>
        <Heading title="Create an API key" />
        <EntryForm
          context={context}
          action="/api-keys"
          refusal={faults?.whole}
          verb="Create"
          cancelTo="/api-keys"
        >
          <Field
            name="name"
            label="Name"
            value={form.name}
            hint="What it is for: the service or the person that will use it."
            fault={faults?.fields.name}
            maxLength={SHOWN_NAME_CHARACTERS_MAX}
            isRequired
          />
          <CheckBox
            name="test"
            value="true"
            isChecked={form.isTest}
            label={
              <>
                Test key{" "}
                <span class="soft">
                  Its mail is only simulated, and listed separately. It can hold {TEST_SCOPES.join(", ")}.
                </span>
              </>
            }
          />
          <Scopes context={context} form={form} />
          <Field
            name="expires_at"
            label="Expires (UTC)"
            type="datetime-local"
            isUtc
            value={form.expiresAt}
            hint={
              issuer.expires_at === null
                ? "Empty: never."
                : "No later than the key that you are logged in with."
            }
            fault={faults?.fields.expires_at}
          />
          {issuer.expires_at === null ? null : <Lasting context={context} expiresAt={issuer.expires_at} />}
          <TextArea
            name="senders"
            label="May send from"
            value={form.senders}
            rows={3}
            hint="Addresses and domains, one per line. Empty: every sender of the workspace."
            fault={faults?.fields.senders}
            isCode
          />
          <TextArea
            name="client_ranges"
            label="Accepted from"
            value={form.clientRanges}
            rows={3}
            hint="IP addresses and ranges such as 203.0.113.0/24, one per line. Empty: every address."
            fault={faults?.fields.client_ranges}
            isCode
          />
        </EntryForm>
      </>
    ),
  };
}

const Scopes: FC<{ readonly context: PageContext; readonly form: NewApiKeyForm }> = ({ context, form }) => (
  <fieldset aria-describedby={form.faults?.fields.scopes ? "scopes-fault" : undefined}>
    <legend>What it may do</legend>
    {SCOPES.filter((scope) => context.may(scope)).map((scope) => (
      <CheckBox
        name="scopes"
        value={scope}
        isChecked={form.scopes.includes(scope)}
        label={
          <>
            <code>{scope}</code> <span class="soft">{SCOPE_MEANINGS[scope]}</span>
          </>
        }
      />
    ))}
    {form.faults?.fields.scopes ? (
      <span class="fault" id="scopes-fault">
        {form.faults.fields.scopes}
      </span>
    ) : null}
  </fieldset>
);

const Lasting: FC<{ readonly context: PageContext; readonly expiresAt: string }> = ({
  context,
  expiresAt,
}) => (
  <p class="notice">
    You are logged in with a key that expires at <Time at={expiresAt} />, and it cannot create one that lasts
    longer. For a key that does, log in with one that lasts, or run{" "}
    <code>{`${POSTLEDGER} api-key create --workspace ${context.workspaceId}`}</code>.
  </p>
);
