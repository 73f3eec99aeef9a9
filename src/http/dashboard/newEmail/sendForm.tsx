/** @jsxImportSource hono/jsx */
import type { Child, FC } from "hono/jsx";
import { ADDRESS_CHARACTERS_MAX } from "../../../kernel/text/emailAddress.ts";
import { EntryForm, Field, HiddenFields } from "../components/form.tsx";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { formFields } from "../frame/formBody.ts";
import type { SendFormState } from "./sendFromForm.ts";

interface SendFormProps {
  readonly context: PageContext;
  /** Paths below the dashboard's. */
  readonly action: string;
  readonly cancelTo: string;
  /** Addresses that may send: the first is the one to begin with. */
  readonly addresses: readonly string[];
  readonly state: SendFormState;
  /** The fields of what is sent. */
  readonly children: Child;
}

/** A form that sends a message, with what applies to it. Hidden: its nonce, and whether it sends live or test mail. */
export const SendForm: FC<SendFormProps> = ({ context, action, cancelTo, addresses, state, children }) => {
  const { nonce, faults } = state;
  const field = formFields(context.form, faults?.fields);
  return (
    <>
      <p>
        {context.principal.isTest
          ? "It is logged, but does not count towards the daily limit, and suppressions do not apply to it."
          : "It is a message like any other: it counts, it is logged, and a suppressed recipient gets none."}
      </p>
      <EntryForm context={context} action={action} refusal={faults?.whole} verb="Send it" cancelTo={cancelTo}>
        <HiddenFields values={{ nonce, mail: context.mail }} />
        <Field
          {...field("from", addresses[0])}
          label="From"
          type="email"
          suggestions={addresses}
          hint="A verified sender of this workspace, or an address of a verified domain."
          maxLength={ADDRESS_CHARACTERS_MAX}
          isRequired
        />
        <Field {...field("to")} label="To" type="email" maxLength={ADDRESS_CHARACTERS_MAX} isRequired />
        {children}
      </EntryForm>
    </>
  );
};
