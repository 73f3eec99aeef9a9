import type { VariableDefinition, VariableType } from "../../../domain/template/variables.ts";
import { type DraftFields, parsedValue } from "./draftForm.ts";

/** Placeholder values, so that there is something to see. */
const MADE_UP: Readonly<Record<Exclude<VariableType, "string">, string>> = {
  number: "42",
  boolean: "true",
  date: "2030-01-31",
  list: "[]",
  object: "{}",
};

/** The text of a variable's sample field: as given, or a placeholder if a value is required. */
export function sampleText({ name, type, required }: VariableDefinition, samples: DraftFields["samples"]) {
  const given = samples.get(name);
  if (given !== undefined) return given;
  if (!required) return "";
  return type === "string" ? name : MADE_UP[type];
}

/** The sample values to render with; an empty field gives none. */
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
