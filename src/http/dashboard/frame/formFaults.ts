import { capitalized } from "../../../kernel/text/capitalized.ts";
import { SECOND_MS } from "../../../kernel/time.ts";
import { Problem } from "../../server/problem.ts";
import { lengthOfTime } from "../components/time.tsx";

/** The faults of a form: by field name, and of the form as a whole. */
export interface FormFaults {
  readonly status: number;
  readonly fields: Readonly<Record<string, string>>;
  /** Null if the fields say it all. */
  readonly whole: string | null;
}

/** Refusals that are not about the form. */
const NOT_OF_FORMS: ReadonlySet<string> = new Set(["NOT_FOUND", "UNAUTHORIZED"]);

/**
 * Translates a refusal into faults of the submitted form. `fieldOf` maps a member of the API's body, and the part of
 * it that is wrong if it is an object, to its field. Rethrows errors that are not about the form.
 */
export function formFaults(
  error: unknown,
  fieldOf: (member: string, part: string) => string | null = (member) => member,
): FormFaults {
  if (!(error instanceof Problem) || NOT_OF_FORMS.has(error.code)) throw error;
  const { errors = [], retryAfterSeconds } = error.options;
  const fields: Record<string, string> = {};
  const others: string[] = [];
  for (const { pointer, message } of errors) {
    const [, member = "", part = ""] = pointer.split("/");
    const field = fieldOf(member, part);
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

/** Turns a problem's detail, a sentence in lower case without a full stop, into a sentence. */
export function sentence(text: string): string {
  const begun = capitalized(text);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
