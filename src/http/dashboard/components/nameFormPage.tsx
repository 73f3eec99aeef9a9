/** @jsxImportSource hono/jsx */

import type { Child } from "hono/jsx";
import { displayNameFault, SHOWN_NAME_CHARACTERS_MAX } from "../../../kernel/text/displayNameFault.ts";
import type { Page, PageContext } from "../frame/dashboardRoute.ts";
import { fieldOf, formFields } from "../frame/formBody.ts";
import { EntryForm, type EntryFormProps, Field } from "./form.tsx";
import { Heading } from "./heading.tsx";

/** The name that was submitted with a {@link nameFormPage}, and what is wrong with it. */
export function enteredName(form: URLSearchParams) {
  const name = fieldOf(form, "name");
  const fault = displayNameFault(name);
  return { name, fault: fault === null ? undefined : `A name ${fault}.` };
}

interface NameForm
  extends Required<Pick<Page, "title" | "above">>,
    Pick<EntryFormProps, "action" | "verb" | "cancelTo" | "refusal"> {
  /** By default the title. */
  readonly heading?: string;
  readonly hint: string;
  /** The name so far. */
  readonly name?: string;
  readonly fault: string | undefined;
  /** The fields after it. */
  readonly others?: Child;
}

/** A form for the name of something new, or for another name of what is there. */
export function nameFormPage(context: PageContext, page: NameForm): Page {
  const { title, above, heading = title, hint, name, fault, others, ...form } = page;
  return {
    title,
    above,
    status: fault === undefined ? 200 : 422,
    body: (
      <>
        <Heading title={heading} />
        <EntryForm context={context} {...form}>
          <Field
            {...formFields(context.form)("name", name)}
            label="Name"
            hint={hint}
            fault={fault}
            maxLength={SHOWN_NAME_CHARACTERS_MAX}
            isRequired
          />
          {others}
        </EntryForm>
      </>
    ),
  };
}
