/** @jsxImportSource hono/jsx */

import type { FC } from "hono/jsx";
import { displayNameFault, SHOWN_NAME_CHARACTERS_MAX } from "../../../kernel/text/displayNameFault.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { fieldOf, formFields } from "../frame/formBody.ts";
import { EntryForm, type EntryFormProps, Field } from "./form.tsx";
import { Heading } from "./heading.tsx";

/** The name that was submitted with a {@link NameForm}, and what is wrong with it. */
export function enteredName(form: URLSearchParams) {
  const name = fieldOf(form, "name");
  const fault = displayNameFault(name);
  return { name, fault: fault === null ? undefined : `A name ${fault}.` };
}

interface NameFormProps extends Pick<EntryFormProps, "action" | "verb" | "cancelTo"> {
  readonly context: PageContext;
  readonly title: string;
  readonly hint: string;
  /** The name so far. */
  readonly name?: string;
  readonly fault: string | undefined;
}

/** A form for the name of something new, or for another name of what is there. */
export const NameForm: FC<NameFormProps> = ({ title, hint, name, fault, ...form }) => (
  <>
    <Heading title={title} />
    <EntryForm {...form}>
      <Field
        {...formFields(form.context.form)("name", name)}
        label="Name"
        hint={hint}
        fault={fault}
        maxLength={SHOWN_NAME_CHARACTERS_MAX}
        isRequired
      />
    </EntryForm>
  </>
);
