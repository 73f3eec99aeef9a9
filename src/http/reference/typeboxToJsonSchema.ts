import type { TSchema } from "@sinclair/typebox";
import { invariant } from "../../kernel/assert.ts";
import { isObject, type Json } from "../../kernel/text/json.ts";

/** A JSON Schema (2020-12) as plain JSON. */
export interface JsonSchema {
  readonly [keyword: string]: Json | undefined;
}

/** Named schemas that others refer to. */
export type Components = Map<string, Json>;

/** Keywords whose value is data, not a schema. */
const DATA: ReadonlySet<string> = new Set(["const", "default", "enum", "examples", "required"]);
/** Patterns that match every member name, expressed as `additionalProperties` instead. */
const EVERY_NAME: ReadonlySet<string> = new Set(["^[\\s\\S]*$", "^(.*)$"]);

/** Turns a union of literals into an enumeration, which tools and people read more easily. */
function enumeration(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema;
  if (!Array.isArray(anyOf) || anyOf.length === 0) return schema;
  const members = anyOf as readonly JsonSchema[];
  if (!members.every((member) => typeof member.const === "string")) return schema;
  return { type: "string", enum: members.map((member) => member.const as string), ...rest };
}

/** Writes "this or null" as two types of one value, which generated code reads as such. */
function nullable(schema: JsonSchema): JsonSchema {
  const { anyOf, ...outer } = schema;
  const [inner, none, ...others] = Array.isArray(anyOf) ? (anyOf as readonly JsonSchema[]) : [];
  if (typeof inner?.type !== "string" || none?.type !== "null" || others.length > 0) return schema;
  const { const: only, enum: values = only, ...rest } = inner;
  const allowed = values === undefined ? {} : { enum: [values, null].flat() };
  return { ...rest, ...outer, type: [inner.type, "null"], ...allowed };
}

/** Of kinds that a member tells apart exactly one fits. */
function exclusive(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema;
  return schema.discriminator === undefined ? schema : { oneOf: anyOf, ...rest };
}

function openRecord(schema: JsonSchema): JsonSchema {
  const { patternProperties, ...rest } = schema;
  if (!isObject(patternProperties)) return schema;
  const [[pattern, values] = ["", true], ...more] = Object.entries(patternProperties);
  return EVERY_NAME.has(pattern) && more.length === 0 ? { ...rest, additionalProperties: values } : schema;
}

function named(schema: JsonSchema, components: Components): Json {
  const { $id: name, ...rest } = schema;
  if (typeof name !== "string") return schema as Json;
  const known = components.get(name);
  invariant(
    known === undefined || JSON.stringify(known) === JSON.stringify(rest),
    `the schema name ${name} is used for one schema only`,
  );
  components.set(name, rest as Json);
  return { $ref: `#/components/schemas/${name}` };
}

function members(properties: JsonSchema, components: Components): Json {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, rewrite(schema as Json, components)]),
  );
}

function rewrite(value: Json, components: Components): Json {
  if (Array.isArray(value)) return value.map((item) => rewrite(item as Json, components));
  if (!isObject(value)) return value;
  const rewritten = Object.entries(value).map(([keyword, part]): [string, Json] => {
    if (DATA.has(keyword)) return [keyword, part];
    const isMap = (keyword === "properties" || keyword === "patternProperties") && isObject(part);
    return [keyword, isMap ? members(part, components) : rewrite(part, components)];
  });
  const whole = openRecord(Object.fromEntries(rewritten));
  return named(exclusive(nullable(enumeration(whole))), components);
}

/**
 * A TypeBox schema of what the service sends. Its objects are open, although we know all of their members: a later
 * release may add some.
 */
export function answerSchema(schema: TSchema, components: Components): JsonSchema {
  const open = (keyword: string, value: unknown) =>
    keyword === "additionalProperties" && value === false ? undefined : value;
  return rewrite(JSON.parse(JSON.stringify(schema, open)) as Json, components) as JsonSchema;
}

/**
 * A TypeBox schema as plain JSON Schema. A schema with an `$id` goes into `components` under that name and is
 * referred to. TypeBox's own marks are symbols, which JSON omits.
 */
export function jsonSchema(schema: TSchema, components: Components): JsonSchema {
  return rewrite(JSON.parse(JSON.stringify(schema)) as Json, components) as JsonSchema;
}
