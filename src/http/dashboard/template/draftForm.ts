import type { VersionSource } from "../../../commands/template/compiledTemplateCache.ts";
import { VARIABLES_MAX } from "../../../domain/template/templateLimits.ts";
import { parseJson } from "../../../kernel/text/json.ts";
import type { ProblemDetail } from "../../server/problem.ts";
import { fieldOf, verbatimFieldOf } from "../frame/formBody.ts";
import { sentence } from "../frame/formFaults.ts";

/** A variable in the form. */
export interface VariableFields {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly fallback: string;
}

/** A draft in the form, unchecked. */
export interface DraftFields {
  readonly subject: string;
  readonly html: string;
  readonly text: string;
  /** Rows, some of them empty. */
  readonly variables: readonly VariableFields[];
  /** Sample values, by variable name. */
  readonly samples: ReadonlyMap<string, string>;
}

const EMPTY_ROW: VariableFields = { name: "", type: "string", isRequired: false, fallback: "" };
/** How many empty rows to offer. */
const EMPTY_ROWS = 2;
export const SAMPLE_PREFIX = "sample-";

/** The fields of the submitted form. */
export function draftFields(form: URLSearchParams): DraftFields {
  const rows: VariableFields[] = [];
  for (let row = 0; row < VARIABLES_MAX && form.has(`name-${row}`); row += 1) {
    rows.push({
      name: fieldOf(form, `name-${row}`),
      type: fieldOf(form, `type-${row}`),
      isRequired: form.has(`required-${row}`),
      fallback: verbatimFieldOf(form, `default-${row}`),
    });
  }
  const samples = [...form.keys()]
    .filter((key) => key.startsWith(SAMPLE_PREFIX))
    .map((key) => [key.slice(SAMPLE_PREFIX.length), verbatimFieldOf(form, key)] as const);
  return {
    subject: verbatimFieldOf(form, "subject"),
    html: verbatimFieldOf(form, "html"),
    text: verbatimFieldOf(form, "text"),
    variables: rows,
    samples: new Map(samples),
  };
}

/** The fields for drafting from a version; null: an empty form. */
export function fieldsOfSource(source: VersionSource | null): DraftFields {
  return {
    subject: source?.subject ?? "",
    html: source?.html ?? "",
    text: source?.text ?? "",
    variables: (source?.variables ?? []).map(({ name, type, required, default: fallback }) => ({
      name,
      type,
      isRequired: required,
      fallback: fallback === undefined ? "" : textOf(fallback),
    })),
    samples: new Map(),
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The rows followed by some empty ones, up to the limit of variables. */
export function rowsToFill(rows: readonly VariableFields[]): readonly VariableFields[] {
  const empty = rows.length - rows.findLastIndex((row) => !isEmpty(row)) - 1;
  const more = Math.min(Math.max(0, EMPTY_ROWS - empty), VARIABLES_MAX - rows.length);
  return [...rows, ...Array.from({ length: more }, () => EMPTY_ROW)];
}

/** The fields with a row for each of these names, in place of the empty rows at the end, and those that found room. */
export function withRowsFor(fields: DraftFields, names: readonly string[]) {
  if (names.length === 0) return { fields, added: names };
  const filled = fields.variables.slice(0, fields.variables.findLastIndex((row) => !isEmpty(row)) + 1);
  const added = names.slice(0, VARIABLES_MAX - filled.length);
  const variables = [...filled, ...added.map((name) => ({ ...EMPTY_ROW, name }))];
  return { fields: { ...fields, variables }, added };
}

/** The fields with one more empty row than the page has. */
export function withAnotherRow(fields: DraftFields): DraftFields {
  return { ...fields, variables: [...fields.variables, EMPTY_ROW].slice(0, VARIABLES_MAX) };
}

function isEmpty({ name, fallback }: VariableFields): boolean {
  return name === "" && fallback === "";
}

/** The body for the API. A value that is not of its type stays text, so the API's rules report it. */
export function draftBody({ subject, html, text, variables }: DraftFields): unknown {
  return {
    subject,
    html: html === "" ? null : html,
    text: text === "" ? null : text,
    variables: variables
      .filter((row) => !isEmpty(row))
      .map(({ name, type, isRequired, fallback }) => ({
        name,
        type,
        required: isRequired,
        ...(fallback === "" ? {} : { default: parsedValue(type, fallback) }),
      })),
  };
}

/** A field's text as a value of the type; the text itself if it is not one. */
export function parsedValue(type: string, text: string): unknown {
  if (type === "string" || type === "date") return text;
  const value = parseJson(text);
  return value === undefined ? text : value;
}

/** Faults by field id. */
export type FieldFaults = ReadonlyMap<string, string>;
export const NO_FAULTS: FieldFaults = new Map();

/** Assigns the API's faults to the fields of the form. */
export function fieldFaults(
  { variables }: Pick<DraftFields, "variables">,
  faults: readonly ProblemDetail[],
): FieldFaults {
  const rows = variables.flatMap((row, index) => (isEmpty(row) ? [] : [index]));
  const byId = Map.groupBy(faults, ({ pointer }) => fieldId(pointer, rows));
  return new Map([...byId].map(([id, of]) => [id, of.map(({ message }) => sentence(message)).join(" ")]));
}

function fieldId(pointer: string, rows: readonly number[]): string {
  const [, member = "", part = ""] = pointer.split("/");
  if (member !== "variables") return ["subject", "html", "text"].includes(member) ? member : "draft";
  if (part === "") return "draft";
  return /^\d+$/.test(part) ? `variable-${rows[Number(part)] ?? 0}` : SAMPLE_PREFIX + part;
}
