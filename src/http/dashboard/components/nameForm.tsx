/** @jsxImportSource hono/jsx */

import type { FC } from "hono/jsx";
import { displayNameFault, SHOWN_NAME_CHARACTERS_MAX } from "../../../kernel/text/displayNameFault.ts";
import { fieldOf } from "../frame/formBody.ts";
import { EntryForm, type EntryFormProps, Field } from "./form.tsx";
import { Heading } from "./heading.tsx";

/** The name in a form, and what is wrong with it. */
export interface EnteredName {
  readonly name: string;
  readonly fault: string | undefined;
}

/** The name that was submitted with a {@link NameForm}. */
export function enteredName(form: URLSearchParams): EnteredName {
  const name = fieldOf(form, "name").trim();
  const fault = displayNameFault(name);
  return { name, fault: fault === null ? undefined : `A name ${fault}.` };
}

interface NameFormProps
  extends EnteredName,
    Pick<EntryFormProps, "context" | "action" | "verb" | "cancelTo"> {
  readonly title: string;
  readonly hint: string;
}

/** A form for the name of something new, or for another name of what is there. */
export const NameForm: FC<NameFormProps> = ({ title, hint, name, fault, ...form }) => (
  <>
    <Heading title={title} />
    <EntryForm {...form}>
      <Field
        name="name"
        label="Name"
        value={name}
        hint={hint}
        fault={fault}
        maxLength={SHOWN_NAME_CHARACTERS_MAX}
        isRequired
      />
    </EntryForm>
  </>
);
