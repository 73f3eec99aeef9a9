/** @jsxImportSource hono/jsx */
import type { Child, FC } from "hono/jsx";
import type { PageContext } from "../frame/dashboardRoute.ts";

/** The field that proves that a form was made for its session. */
export const TOKEN_FIELD = "form_token";

interface PostFormProps {
  readonly context: Pick<PageContext, "to" | "formToken">;
  /** The path it is sent to, below the dashboard's. */
  readonly action: string;
  readonly class?: string;
  readonly children: Child;
}

/** A form that changes something. All such forms use this: without its token they are refused. */
export const PostForm: FC<PostFormProps> = ({ context, action, class: className, children }) => (
  <form method="post" action={context.to(action)} class={className} data-once>
    <input type="hidden" name={TOKEN_FIELD} value={context.formToken} />
    {children}
  </form>
);

/** What a form sends along unseen, by name. */
export const HiddenFields: FC<{ readonly values: Readonly<Record<string, string>> }> = ({ values }) => (
  <>
    {Object.entries(values).map(([name, value]) => (
      <input type="hidden" name={name} value={value} />
    ))}
  </>
);

interface UploadFormProps extends Pick<PostFormProps, "context" | "action"> {
  readonly label: string;
  readonly hint: string;
  /** The word on the button. */
  readonly verb: string;
}

/**
 * A form that sends one file. Its token is in the address, because we read a file only once we know who sends it. Its
 * answer redirects, so that address is not kept anywhere.
 */
export const UploadForm: FC<UploadFormProps> = ({ context, action, label, hint, verb }) => (
  <form
    method="post"
    action={`${context.to(action)}?${new URLSearchParams({ [TOKEN_FIELD]: context.formToken })}`}
    enctype="multipart/form-data"
    class="filter"
    data-once
  >
    <p class="field">
      <label for="file">{label}</label>
      <input id="file" name="file" type="file" required aria-describedby="file-hint" />
      <span class="hint" id="file-hint">
        {hint}
      </span>
    </p>
    <p class="actions">
      <button type="submit" class="primary">
        {verb}
      </button>
    </p>
  </form>
);

interface FieldProps {
  readonly name: string;
  readonly label: string;
  readonly value?: string;
  readonly type?: "text" | "email" | "url" | "number" | "password" | "search" | "date" | "datetime-local";
  /** What it may hold. */
  readonly hint?: string;
  /** What is wrong with the value. */
  readonly fault?: Child;
  readonly isRequired?: boolean;
  readonly maxLength?: number;
  readonly placeholder?: string;
  /** HTML's `autocomplete`; by default `off`. */
  readonly autocomplete?: string;
  /** Values to choose from; others can be typed. */
  readonly suggestions?: readonly string[];
  /** Its time is in UTC: a script shows it in local time and sends UTC. The label says so. */
  readonly isUtc?: boolean;
}

interface LabelledProps extends Pick<FieldProps, "name" | "label" | "hint" | "fault"> {
  readonly children: Child;
}

/** A control with its label above, and its hint and its fault below. */
const Labelled: FC<LabelledProps> = ({ name, label, hint, fault, children }) => (
  <p class="field">
    <label for={name}>{label}</label>
    {children}
    {hint ? (
      <span class="hint" id={`${name}-hint`}>
        {hint}
      </span>
    ) : null}
    {fault ? (
      <span class="fault" id={`${name}-fault`}>
        {fault}
      </span>
    ) : null}
  </p>
);

/** The attributes that lead from a control to its label, its hint and its fault. */
function labelled({ name, hint, fault }: Pick<FieldProps, "name" | "hint" | "fault">) {
  const ids = [...(hint ? [`${name}-hint`] : []), ...(fault ? [`${name}-fault`] : [])];
  return {
    id: name,
    name,
    "aria-describedby": ids.length === 0 ? undefined : ids.join(" "),
    "aria-invalid": fault ? ("true" as const) : undefined,
  };
}

/** A text input with label, hint and fault. */
export const Field: FC<FieldProps> = (props) => (
  <Labelled {...props}>
    <input
      {...labelled(props)}
      type={props.type ?? "text"}
      value={props.value ?? ""}
      required={props.isRequired}
      maxlength={props.maxLength}
      placeholder={props.placeholder}
      autocomplete={props.autocomplete ?? "off"}
      spellcheck={false}
      data-utc={props.isUtc ? "" : undefined}
      list={props.suggestions ? `${props.name}-suggestions` : undefined}
    />
    {props.suggestions ? (
      <datalist id={`${props.name}-suggestions`}>
        {props.suggestions.map((value) => (
          <option value={value} />
        ))}
      </datalist>
    ) : null}
  </Labelled>
);

interface TextAreaProps extends Pick<FieldProps, "name" | "label" | "value" | "hint" | "fault"> {
  readonly rows?: number;
  /** For code and JSON. */
  readonly isCode?: boolean;
}

/** Several lines of text. */
export const TextArea: FC<TextAreaProps> = (props) => (
  <Labelled {...props}>
    <textarea
      {...labelled(props)}
      rows={props.rows ?? 6}
      class={props.isCode ? "code" : undefined}
      spellcheck={!props.isCode}
    >
      {props.value ?? ""}
    </textarea>
  </Labelled>
);

interface SelectProps extends Pick<FieldProps, "name" | "label" | "value"> {
  /** The label of the empty value; without it there is none. */
  readonly none?: string;
  /** Values, with labels where these differ. */
  readonly options: readonly (string | { readonly value: string; readonly label: string })[];
}

/** A choice of a few values. */
export const Select: FC<SelectProps> = (props) => (
  <Labelled {...props}>
    <select id={props.name} name={props.name}>
      {props.none === undefined ? null : (
        <option value="" selected={!props.value}>
          {props.none}
        </option>
      )}
      {props.options
        .map((option) => (typeof option === "string" ? { value: option, label: option } : option))
        .map(({ value, label }) => (
          <option value={value} selected={value === props.value}>
            {label}
          </option>
        ))}
    </select>
  </Labelled>
);

interface CheckBoxProps {
  readonly name: string;
  readonly value: string;
  readonly label: Child;
  readonly isChecked?: boolean;
}

export const CheckBox: FC<CheckBoxProps> = ({ name, value, label, isChecked }) => (
  <label class="check">
    <input type="checkbox" name={name} value={value} checked={isChecked} />
    <span>{label}</span>
  </label>
);

/** Why a form or request was refused; nothing if it was not. */
export const Refusal: FC<{ readonly text: Child }> = ({ text }) =>
  text ? (
    <p class="refusal" role="alert">
      {text}
    </p>
  ) : null;

export interface EntryFormProps extends Pick<PostFormProps, "context" | "action" | "children"> {
  /** What is wrong with the form as a whole. */
  readonly refusal?: Child;
  /** What is on the button. */
  readonly verb: Child;
  /** Where Cancel leads; without it there is no such button. */
  readonly cancelTo?: string;
  readonly isDangerous?: boolean;
}

/** A form with stacked fields, its faults above them and its buttons below. */
export const EntryForm: FC<EntryFormProps> = (props) => (
  <>
    <Refusal text={props.refusal} />
    <PostForm context={props.context} action={props.action} class="stack">
      {props.children}
      <p class="actions">
        <button type="submit" class={props.isDangerous ? "danger" : "primary"}>
          {props.verb}
        </button>
        {props.cancelTo === undefined ? null : (
          <a class="button" href={props.context.to(props.cancelTo)}>
            Cancel
          </a>
        )}
      </p>
    </PostForm>
  </>
);

interface FilterFormProps {
  readonly action: string;
  /** What it filters, for screen readers. */
  readonly label: string;
  readonly children: Child;
}

/** Filters a list. The filter is part of the list's address. */
export const FilterForm: FC<FilterFormProps> = ({ action, label, children }) => (
  <form method="get" action={action} class="filter" aria-label={label}>
    {children}
    <p class="actions">
      <button type="submit">Search</button>
    </p>
  </form>
);
