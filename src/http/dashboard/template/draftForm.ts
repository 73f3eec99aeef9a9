import type { VersionSource } from "../../../commands/template/compiledTemplateCache.ts";
import type { VariableDefinition, VariableType } from "../../../domain/template/variables.ts";
import { parseJson } from "../../../kernel/text/json.ts";
import type { ProblemDetail } from "../../server/problem.ts";
import { fieldOf } from "../frame/formBody.ts";
import { sentence } from "../frame/formFaults.ts";

/** A variable as the form has it. */
export interface VariableFields {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly fallback: string;
}

/** A draft as the form has it: nothing in it is checked yet. */
export interface DraftFields {
  readonly subject: string;
  readonly html: string;
  readonly text: string;
  /** Rows, of which some are left empty. */
  readonly variables: readonly VariableFields[];
  /** Values to try it with, by the names of variables. */
  readonly samples: ReadonlyMap<string, string>;
}

const ROWS_MAX = 100;
const EMPTY_ROW: VariableFields = { name: "", type: "string", isRequired: false, fallback: "" };
/** So many empty rows are there to be filled. */
const EMPTY_ROWS = 2;
export const SAMPLE_PREFIX = "sample-";

/** The fields of the form that was sent. */
export function draftFields(form: URLSearchParams): DraftFields {
  const rows: VariableFields[] = [];
  for (let row = 0; row < ROWS_MAX && form.has(`name-${row}`); row += 1) {
    rows.push({
      name: fieldOf(form, `name-${row}`).trim(),
      type: fieldOf(form, `type-${row}`),
      isRequired: form.has(`required-${row}`),
      fallback: fieldOf(form, `default-${row}`),
    });
  }
  const samples = [...form.keys()]
    .filter((key) => key.startsWith(SAMPLE_PREFIX))
    .map((key) => [key.slice(SAMPLE_PREFIX.length), fieldOf(form, key)] as const);
  return {
    subject: fieldOf(form, "subject"),
    html: fieldOf(form, "html"),
    text: fieldOf(form, "text"),
    variables: rows,
    samples: new Map(samples),
  };
}

/** The fields that a version is drafted from; null: an empty form. */
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

/** The rows with some empty ones below them, as far as a version may have so many variables. */
export function rowsToFill(rows: readonly VariableFields[]): readonly VariableFields[] {
  const empty = rows.length - rows.findLastIndex((row) => !isEmpty(row)) - 1;
  const more = Math.min(Math.max(0, EMPTY_ROWS - empty), ROWS_MAX - rows.length);
  return [...rows, ...Array.from({ length: more }, () => EMPTY_ROW)];
}

function isEmpty({ name, fallback }: VariableFields): boolean {
  return name === "" && fallback === "";
}

/** The body that the API would be sent; what is no value of its type stays text, which its rules then name. */
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

/** What a field's text says as a value of a type; the text itself where it is none of it. */
function parsedValue(type: string, text: string): unknown {
  if (type === "string" || type === "date") return text;
  const value = parseJson(text);
  return value === undefined ? text : value;
}

/** The value of a variable that nobody has given yet, so that there is something to see. */
const MADE_UP: Readonly<Record<Exclude<VariableType, "string">, string>> = {
  number: "42",
  boolean: "true",
  date: "2030-01-31",
  list: "[]",
  object: "{}",
};

/** The text of a variable's sample field: as it was given, else made up where a value is required. */
export function sampleText({ name, type, required }: VariableDefinition, samples: DraftFields["samples"]) {
  const given = samples.get(name);
  if (given !== undefined) return given;
  if (!required) return "";
  return type === "string" ? name : MADE_UP[type];
}

/** The values that a version is tried with; an empty field gives none. */
export function sampleValues(
  variables: readonly VariableDefinition[],
  samples: DraftFields["samples"],
): Readonly<Record<string, unknown>> {
  const given = variables.flatMap((definition) => {
    const text = sampleText(definition, samples);
    return text === "" ? [] : [[definition.name, parsedValue(definition.type, text)] as const];
  });
  return Object.fromEntries(given);
}

/** What is wrong, by the id of the field that it belongs to. */
export type FieldFaults = ReadonlyMap<string, string>;
export const NO_FAULTS: FieldFaults = new Map();

/** Faults as the API names them, at the fields of the form. */
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
