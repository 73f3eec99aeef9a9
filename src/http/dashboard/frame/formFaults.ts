import { capitalized } from "../../../kernel/text/capitalized.ts";
import { SECOND_MS } from "../../../kernel/time.ts";
import { Problem } from "../../server/problem.ts";
import { lengthOfTime } from "../components/time.tsx";

/** What is wrong with a form: by its fields' names, and of the form as a whole. */
export interface FormFaults {
  readonly status: number;
  readonly fields: Readonly<Record<string, string>>;
  /** Null where the fields say it all. */
  readonly whole: string | null;
}

/** Refusals that are about more than the form. */
const NOT_OF_FORMS: ReadonlySet<string> = new Set(["NOT_FOUND", "UNAUTHORIZED"]);

/**
 * What a refusal means for the form that was sent. `fieldOf` names the field of a member of the API's body. Whatever is no
 * refusal of the form is thrown on.
 */
export function formFaults(
  error: unknown,
  fieldOf: (member: string) => string | null = (member) => member,
): FormFaults {
  if (!(error instanceof Problem) || NOT_OF_FORMS.has(error.code)) throw error;
  const { errors = [], retryAfterSeconds } = error.options;
  const fields: Record<string, string> = {};
  const others: string[] = [];
  for (const { pointer, message } of errors) {
    const field = fieldOf(pointer.split("/")[1] ?? "");
    if (field === null || field === "") others.push(message);
    else fields[field] ??= `It ${message}.`;
  }
  if (errors.length > 0) {
    return { status: error.status, fields, whole: others.length === 0 ? null : sentence(others.join("; ")) };
  }
  return { status: error.status, fields, whole: sentence(error.message) + againIn(retryAfterSeconds) };
}

function againIn(seconds: number | undefined): string {
  return seconds === undefined ? "" : ` You can in ${lengthOfTime(seconds * SECOND_MS)}.`;
}

/** Details are parts of sentences: they begin with a small letter and have no full stop. */
export function sentence(text: string): string {
  const begun = capitalized(text);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
