import { Kind, OptionalKind, type TSchema, type TUnsafe, Type, TypeRegistry } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { type ValueError, type ValueErrorIterator, ValueErrorType } from "@sinclair/typebox/errors";
import type { ValidationError } from "elysia";
import { lazy } from "../../kernel/lazy.ts";
import { nearestName } from "../../kernel/text/nearestName.ts";
import { ERRORS_MAX, type Problem, type ProblemDetail, refusedFor } from "../server/problem.ts";
import { A_DATE_TIME, dateTimeFault } from "./dateTimeText.ts";

/** The key under which a schema says in words what its pattern requires. */
const WORDS = Symbol("words");
/** The key under which a schema says what is wrong with a text. */
const TEXT_FAULT = Symbol("text fault");
/** The key under which a schema keeps rules that it cannot express itself. */
const FURTHER = Symbol("further rules");

/** The key under which an object's schema keeps advice on members that callers often get wrong. */
const ADVICE = Symbol("advice");

/** Finds faults that a schema cannot express. It may get values of any type, and ignores those of a wrong type. */
export type FurtherRules = (value: unknown) => readonly ProblemDetail[];

/** Adds words for what the schema's pattern requires: the end of a sentence about the value. */
export function withErrorText<Schema extends TSchema>(words: string, schema: Schema): Schema {
  return { ...schema, [WORDS]: words };
}

/** What is wrong with a text that its schema refuses. */
type TextFault = (text: string) => Pick<ProblemDetail, "message" | "summary">;

/** Adds what to say about a refused text, if that depends on the text. */
export function withTextFault<Schema extends TSchema>(faultIn: TextFault, schema: Schema): Schema {
  return { ...schema, [TEXT_FAULT]: faultIn };
}

/**
 * Adds rules to a body's schema. `areCheckedLater`: for a body that the schema accepts, whoever handles it checks them,
 * together with what only then can be known.
 */
export function withRules<Schema extends TSchema>(
  schema: Schema,
  findFaults: FurtherRules,
  { areCheckedLater = false } = {},
): Schema {
  return { ...schema, [FURTHER]: { findFaults, areCheckedLater } };
}

/**
 * Adds advice by member to an object's schema. The advice follows the fault when the schema does not know the member,
 * or, in a body, when a list was given for a single value. Advice on `name[]` applies if an item of the body's list is
 * an object, and advice on the empty name if the whole body is not an object.
 */
export function withAdvice<Schema extends TSchema>(
  advice: Readonly<Record<string, string>>,
  schema: Schema,
): Schema {
  return { ...schema, [ADVICE]: advice };
}

TypeRegistry.Set("CheckedLater", () => true);

/**
 * A schema for the document only: the handler checks the values one by one, so a wrong one does not spoil the others.
 */
export function checkedLater(schema: TSchema): TUnsafe<unknown> {
  return Type.Unsafe<unknown>({ ...schema, [Kind]: "CheckedLater" } as TSchema);
}

/** The parts of a schema that messages need. */
interface Rule {
  readonly [Kind]?: string;
  readonly [OptionalKind]?: "Optional";
  readonly [WORDS]?: string;
  readonly [TEXT_FAULT]?: TextFault;
  readonly [FURTHER]?: { readonly findFaults: FurtherRules; readonly areCheckedLater: boolean };
  readonly [ADVICE]?: Readonly<Record<string, string>>;
  readonly title?: string;
  readonly type?: string;
  readonly format?: string;
  readonly const?: unknown;
  readonly anyOf?: readonly Rule[];
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
}

type JsonType = "string" | "number" | "boolean" | "null" | "array" | "object";

const TYPES: Readonly<Record<JsonType, string>> = {
  string: "a string",
  number: "a number",
  boolean: "true or false",
  null: "null",
  array: "a list",
  object: "an object",
};

const FORMATS: Readonly<Record<string, string>> = {
  uuid: "a UUID",
  "date-time": A_DATE_TIME,
};

/**
 * Checks values as Elysia does, and throws what is wrong. Elysia first formats a refused value as text, which blocks
 * everybody for half a second if it has megabytes. Also checks the schema's {@link withRules}.
 */
export function checkBy(schema: TSchema): (value: unknown) => void {
  // Compile on first use, to keep the start fast: of some hundred schemas, most are needed late or never.
  const compiled = lazy(() => TypeCompiler.Compile(schema));
  const further = (schema as Rule)[FURTHER];
  return (value) => {
    const validator = compiled();
    if (!validator.Check(value)) throw validationProblem({ validator, value });
    if (further === undefined || further.areCheckedLater) return;
    const faults = further.findFaults(value);
    if (faults.length > 0) throw refusedFor("INVALID_REQUEST", faults);
  };
}

/** Everything that is wrong with a value, once per pointer, up to {@link ERRORS_MAX}. */
export function validationProblem({
  validator,
  value,
}: Pick<ValidationError, "validator" | "value">): Problem {
  const found = new Map<string, ProblemDetail>();
  const { schema } = validator as { readonly schema?: Rule };
  for (const fault of faultsOf((validator as { Errors(value: unknown): ValueErrorIterator }).Errors(value))) {
    const { pointer, message } = fault;
    // A value's first fault says the most: what is missing also has the wrong type.
    if (!found.has(pointer))
      found.set(pointer, { ...fault, message: message + adviceOn(pointer, value, schema) });
    if (found.size >= ERRORS_MAX) break;
  }
  for (const fault of schema?.[FURTHER]?.findFaults(value) ?? [])
    if (!found.has(fault.pointer)) found.set(fault.pointer, fault);
  return refusedFor("INVALID_REQUEST", [...found.values()]);
}

/** The advice that follows a member's fault, if the schema has some. */
function adviceOn(pointer: string, value: unknown, schema: Rule | undefined): string {
  const advice = schema?.[ADVICE];
  const [, name = "", index] = /^\/([^/]+)(?:\/(\d+))?$/.exec(pointer) ?? [];
  const key = index === undefined ? name : `${name}[]`;
  if (advice === undefined || !Object.hasOwn(advice, key)) return "";
  if (name === "") return pointer === "" ? `: ${advice[key]}` : "";
  const given = (value as Record<string, unknown>)[name];
  const isMeant =
    index === undefined
      ? Array.isArray(given) && Object.hasOwn(schema?.properties ?? {}, name)
      : typeof (given as readonly unknown[])[Number(index)] === "object";
  return isMeant ? `: ${advice[key]}` : "";
}

/** The faults of values, each with `why` it applies unless it is about a member that is not known at all. */
function* faultsOf(errors: Iterable<ValueError>, why = ""): Iterable<ProblemDetail> {
  for (const error of errors) {
    const isUnknown = error.type === ValueErrorType.ObjectAdditionalProperties;
    const { [TEXT_FAULT]: faultIn, [OptionalKind]: optional } = error.schema as Rule;
    if (error.value === null && optional !== undefined)
      yield { pointer: error.path, message: "is null: leave it out" };
    else if (error.type === ValueErrorType.Union) yield* unionFaults(error, why);
    else if (faultIn !== undefined) yield { pointer: error.path, ...faultIn(String(error.value)) };
    else yield { pointer: error.path, message: messageOf(error) + (isUnknown ? "" : why) };
  }
}

/**
 * The faults of a value with several forms, judged by the form of its type. If no form has its type, the types allowed.
 */
function* unionFaults({ schema, path, value, errors }: ValueError, outer: string): Iterable<ProblemDetail> {
  const { anyOf = [] } = schema as Rule;
  if (anyOf.every((form) => form.const !== undefined)) {
    const values = anyOf.map((form) => String(form.const)).join(", ");
    yield { pointer: path, message: `must be one of ${values}${outer}` };
    return;
  }
  const type = typeOf(value);
  const index = anyOf.findIndex((form) => typesOf(form).includes(type));
  const [form, faults] = [anyOf[index], errors[index]];
  if (form === undefined || faults === undefined) {
    yield { pointer: path, message: `must be ${alternatives(anyOf)}${outer}` };
    return;
  }
  const why = form.title === undefined ? "" : `, because ${TYPES[type]} here is ${form.title}`;
  yield* faultsOf(faults, why + outer);
}

function alternatives(forms: readonly Rule[]): string {
  const said = forms.flatMap((form) =>
    typesOf(form).map((type) => (form.title === undefined ? TYPES[type] : `${TYPES[type]} (${form.title})`)),
  );
  return [...new Set(said)].join(" or ");
}

function typeOf(value: unknown): JsonType {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value as "string" | "number" | "boolean" | "object";
}

function typesOf({ type, anyOf, const: literal }: Rule): readonly JsonType[] {
  if (anyOf !== undefined) return anyOf.flatMap(typesOf);
  if (literal !== undefined) return [typeOf(literal)];
  return [type === "integer" ? "number" : (type as JsonType)];
}

/** What a value must be, as the end of a sentence about it. */
function messageOf({ type, schema, value, path }: ValueError): string {
  const rule = schema as Rule;
  switch (type) {
    case ValueErrorType.ObjectRequiredProperty:
      return "is required";
    case ValueErrorType.ObjectAdditionalProperties:
      return unknownMember(path, rule);
    case ValueErrorType.ObjectMinProperties:
      return "must have at least one member";
    case ValueErrorType.ObjectMaxProperties:
      return `must have at most ${rule.maxProperties} members`;
    case ValueErrorType.ArrayUniqueItems:
      return "must not contain duplicates";
    case ValueErrorType.StringFormat:
      if (rule.format === "date-time") return dateTimeFault(String(value));
      return `must be ${FORMATS[rule.format ?? ""] ?? rule.format}`;
    case ValueErrorType.StringPattern:
      return rule[WORDS] ?? "does not have the required form";
    case ValueErrorType.Literal:
      return `must be ${String(rule.const)}`;
    default:
      return `must ${boundOf(rule, value)}`;
  }
}

/** The type and range that a schema requires; only the range if the type is right. */
function boundOf(rule: Rule, value: unknown): string {
  const [type = "object"] = typesOf(rule);
  if (type === "number") {
    const { minimum, maximum } = rule;
    const bounds = minimum === undefined || maximum === undefined ? "" : ` from ${minimum} to ${maximum}`;
    return `be ${rule.type === "integer" ? "a whole number" : "a number"}${bounds}`;
  }
  if (typeOf(value) === type) {
    if (type === "array") return `hold ${count(rule.minItems, rule.maxItems, "item")}`;
    if (rule.maxLength !== undefined) return `have ${count(rule.minLength, rule.maxLength, "character")}`;
  }
  return `be ${FORMATS[rule.format ?? ""] ?? TYPES[type]}`;
}

function count(min: number | undefined, max: number | undefined, what: string): string {
  const range =
    max === undefined ? `at least ${min}` : min === undefined ? `at most ${max}` : `${min} to ${max}`;
  return `${range} ${what}${(max ?? min) === 1 ? "" : "s"}`;
}

/** Adds the schema's advice, or the name that was most likely meant: one that is similar or begins with the given one. */
function unknownMember(path: string, { properties = {}, [ADVICE]: advice = {} }: Rule): string {
  const name = path
    .slice(path.lastIndexOf("/") + 1)
    .replaceAll("~1", "/")
    .replaceAll("~0", "~");
  if (Object.hasOwn(advice, name)) return `is not known here: ${advice[name]}`;
  const names = Object.keys(properties);
  const nearest = nearestName(name, names) ?? names.find((other) => other.startsWith(`${name}_`)) ?? null;
  return nearest === null ? "is not known here" : `is not known here: did you mean ${nearest}?`;
}
