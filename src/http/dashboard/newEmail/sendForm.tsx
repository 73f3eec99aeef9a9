/** @jsxImportSource hono/jsx */
import type { Child, FC } from "hono/jsx";
import { ADDRESS_CHARACTERS_MAX } from "../../../kernel/text/emailAddress.ts";
import { EntryForm, Field, HiddenFields } from "../components/form.tsx";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { formFields } from "../frame/formBody.ts";
import { SenderFaultAdvice } from "../sender/senderFaultAdvice.tsx";
import type { UsableSenders } from "../sender/usableSenders.ts";
import type { SendFormState } from "./sendFromForm.ts";

/** How many domains the hint names. */
const DOMAINS_NAMED_MAX = 3;

function namedDomains(domains: readonly string[]): string {
  if (domains.length === 0) return "";
  const named = domains.slice(0, DOMAINS_NAMED_MAX).join(", ");
  return domains.length > DOMAINS_NAMED_MAX ? ` (${named} and others)` : ` (${named})`;
}

interface SendFormProps {
  readonly context: PageContext;
  /** Paths below the dashboard's. */
  readonly action: string;
  readonly cancelTo: string;
  /** What may send: the first address is the one to begin with. */
  readonly senders: UsableSenders;
  readonly state: SendFormState;
  /** The fields of what is sent. */
  readonly children: Child;
}

/** A form that sends a message, with what applies to it. Hidden: its nonce, and whether it sends live or test mail. */
export const SendForm: FC<SendFormProps> = ({ context, action, cancelTo, senders, state, children }) => {
  const { nonce, faults, senderFault } = state;
  const { addresses, domains } = senders;
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
          {...(senderFault === undefined
            ? {}
            : { fault: <SenderFaultAdvice context={context} fault={senderFault} /> })}
          label="From"
          type="email"
          suggestions={addresses}
          {...(addresses.length > 0 || domains[0] === undefined ? {} : { placeholder: `name@${domains[0]}` })}
          hint={`A verified sender of this workspace, or an address of a verified domain${namedDomains(domains)}.`}
          maxLength={ADDRESS_CHARACTERS_MAX}
          isRequired
        />
        <Field {...field("to")} label="To" type="email" maxLength={ADDRESS_CHARACTERS_MAX} isRequired />
        {children}
      </EntryForm>
    </>
  );
};
