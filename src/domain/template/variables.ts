import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { isObject } from "../../kernel/text/json.ts";
import { isRfc3339 } from "../../kernel/time.ts";

export const VARIABLE_TYPES = ["string", "number", "boolean", "date", "list", "object"] as const;
export type VariableType = (typeof VARIABLE_TYPES)[number];

const Literals = <const Names extends readonly string[]>(names: Names) =>
  Type.Unsafe<Names[number]>(Type.Union(names.map((name) => Type.Literal(name))) as TSchema);

/** The definition of one variable of a version; part of the storage format. */
export const VariableDefinition = Type.Object({
  name: Type.String(),
  type: Literals(VARIABLE_TYPES),
  required: Type.Boolean(),
  /** The value if none is given; it fits the type. */
  default: Type.Optional(Type.Unknown()),
});
export type VariableDefinition = Static<typeof VariableDefinition>;

/** One wrong variable, or one wrong definition. */
interface VariableFault {
  readonly name: string;
  readonly message: string;
}

const FITS: Readonly<Record<VariableType, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  boolean: (value) => typeof value === "boolean",
  date: (value) => typeof value === "string" && isRfc3339(value),
  list: (value) => Array.isArray(value),
  object: isObject,
};

const RULES: Readonly<Record<VariableType, string>> = {
  string: "must be a string",
  number: "must be a number",
  boolean: "must be true or false",
  date: "must be a date as in RFC 3339: 2030-01-31 or 2030-01-31T12:00:00Z",
  list: "must be a list",
  object: "must be an object",
};

/** Why `value` cannot be a variable of this type; null if it can. */
export function typeFault(type: VariableType, value: unknown): string | null {
  return FITS[type](value) ? null : RULES[type];
}

type FilledVariables =
  | { readonly kind: "filled"; readonly values: Readonly<Record<string, unknown>> }
  | { readonly kind: "wrong"; readonly faults: readonly VariableFault[] };

/**
 * The values to render a template with: the given ones, and defaults for the others. Null counts as not given. A value
 * without a definition is passed on unchecked: no version drafted now can read it, so a sender may give more than a
 * version asks for. All faults are reported at once.
 */
export function fillVariables(
  definitions: readonly VariableDefinition[],
  given: Readonly<Record<string, unknown>>,
): FilledVariables {
  const faults: VariableFault[] = [];
  const defaults: [string, unknown][] = [];
  for (const { name, type, required, default: fallback } of definitions) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value === undefined || value === null) {
      if (required) faults.push({ name, message: `is required: ${RULES[type]}` });
      else if (fallback !== undefined) defaults.push([name, fallback]);
      continue;
    }
    const message = typeFault(type, value);
    if (message !== null) faults.push({ name, message });
  }
  if (faults.length > 0) return { kind: "wrong", faults };
  return { kind: "filled", values: Object.fromEntries([...Object.entries(given), ...defaults]) };
}
