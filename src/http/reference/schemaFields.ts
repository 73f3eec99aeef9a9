import { isObject, type Json, type JsonObject } from "../../kernel/text/json.ts";
import {
  EXAMPLE_ADDRESS,
  EXAMPLE_ID,
  EXAMPLE_MEMBERS,
  EXAMPLE_TEXTS,
  EXAMPLE_TIME,
  EXAMPLE_URL,
} from "./exampleValues.ts";
import type { OpenApiHeader } from "./openApiTypes.ts";
import type { JsonSchema } from "./typeboxToJsonSchema.ts";

/** One field of a body for the reference page; `depth` indents nested fields. */
export interface Field {
  readonly name: string;
  readonly depth: number;
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
}

export type Schemas = Readonly<Record<string, JsonSchema>>;

/** The depth to which fields are listed: a recursive schema would have no end. */
const DEPTH_MAX = 6;

/** The name that a schema refers to; empty if it is no reference. */
function nameOf({ $ref: reference }: JsonSchema): string {
  return typeof reference === "string" ? reference.slice("#/components/schemas/".length) : "";
}

/** Follows a schema that is only a reference. */
function resolved(schema: JsonSchema, schemas: Schemas): JsonSchema {
  const name = nameOf(schema);
  return name === "" ? schema : (schemas[name] ?? {});
}

/** The schemas of a union: of null and another type, too. */
function alternatives(schema: JsonSchema): readonly JsonSchema[] {
  const { type, enum: values, anyOf, oneOf = anyOf } = schema;
  if (Array.isArray(oneOf)) return oneOf as readonly JsonSchema[];
  if (!Array.isArray(type)) return [];
  const others = Array.isArray(values) ? { enum: values.filter((value) => value !== null) } : {};
  return type.map((one) => (one === "null" ? { type: one } : { ...schema, ...others, type: one as Json }));
}

/** Whether null is among the alternatives, and no other has an example. */
function isNullable(union: readonly JsonSchema[], schemas: Schemas): boolean {
  return (
    union.some(({ type }) => type === "null") &&
    union.every((one) => resolved(one, schemas).examples === undefined)
  );
}

function range(low: Json | undefined, high: Json | undefined, unit: string): string {
  if (low === undefined && high === undefined) return "";
  const figure = (value: Json) => Number(value).toLocaleString("en");
  if (low !== undefined && high !== undefined) return `${figure(low)} to ${figure(high)}${unit}`;
  if (low === undefined) return `at most ${figure(high as Json)}${unit}`;
  return `at least ${figure(low)}${low === 1 ? unit.replace(/s$/, "") : unit}`;
}

function simpleType(schema: JsonSchema): string {
  const { type, format, contentEncoding, contentMediaType, pattern } = schema;
  const facts = [
    format ?? contentEncoding ?? contentMediaType,
    range(schema.minLength, schema.maxLength, " characters"),
    range(schema.minimum, schema.maximum, ""),
    typeof pattern === "string" ? `matches ${pattern}` : undefined,
  ];
  return [String(type ?? "any value"), ...facts.filter((fact) => fact !== undefined && fact !== "")].join(
    ", ",
  );
}

/** A parameter or a header as a field. */
export function fieldOf(
  name: string,
  { required, description = "", schema }: OpenApiHeader,
  schemas: Schemas,
): Field {
  return { name, depth: 0, type: typeText(schema, schemas), required, description };
}

/** A schema in a few words: `string, at most 320 characters`. */
export function typeText(given: JsonSchema, schemas: Schemas): string {
  const schema = resolved(given, schemas);
  const union = alternatives(schema);
  if (union.length > 0) {
    return [...new Set(union.map((member) => typeText(member, schemas)))].join(" or ");
  }
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.type === "array") {
    const items = typeText((schema.items ?? {}) as JsonSchema, schemas);
    const count = range(schema.minItems, schema.maxItems, " items");
    return `array of ${items}${count && `, ${count}`}`;
  }
  return simpleType(schema);
}

/** The objects inside a schema whose fields are worth listing. */
function objectsIn(given: JsonSchema, schemas: Schemas): readonly JsonSchema[] {
  const schema = resolved(given, schemas);
  if (schema.properties !== undefined) return [schema];
  if (schema.type === "array") return objectsIn((schema.items ?? {}) as JsonSchema, schemas);
  const values = schema.additionalProperties;
  if (values !== null && typeof values === "object") return objectsIn(values as JsonSchema, schemas);
  return alternatives(schema).flatMap((member) => objectsIn(member, schemas));
}

/** A schema's description, or that of its alternative to null. */
function descriptionOf(schema: JsonSchema): string {
  const told = [schema, ...alternatives(schema)].map(({ description }) => description);
  return String(told.find((description) => description !== undefined) ?? "");
}

/** All fields of `schema`, outermost first. Fields that several alternatives share are listed once. */
export function fieldsOf(schema: JsonSchema, schemas: Schemas, depth = 0): readonly Field[] {
  if (depth > DEPTH_MAX) return [];
  const told = new Set<string>();
  return objectsOf(schema, schemas, depth).filter((field) => {
    const text = JSON.stringify(field);
    if (field.depth === depth && told.has(text)) return false;
    told.add(text);
    return true;
  });
}

function objectsOf(schema: JsonSchema, schemas: Schemas, depth: number): readonly Field[] {
  return objectsIn(schema, schemas).flatMap((object) => {
    const required = (object.required ?? []) as readonly string[];
    return Object.entries(object.properties as Readonly<Record<string, JsonSchema>>).flatMap(
      ([name, property]) => [
        {
          name,
          depth,
          type: typeText(property, schemas),
          required: required.includes(name),
          description: descriptionOf(property),
        },
        ...fieldsOf(property, schemas, depth + 1),
      ],
    );
  });
}

function sampleText(name: string, { format }: JsonSchema): string {
  if (format === "uuid") return EXAMPLE_ID;
  if (format === "date-time") return EXAMPLE_TIME;
  if (/url/.test(name)) return EXAMPLE_URL;
  if (/^(to|email|address)$/.test(name)) return EXAMPLE_ADDRESS;
  return EXAMPLE_TEXTS[name] ?? (name || "text");
}

/** What a sample is made for: a member's name, and values that it shall have. */
interface SampleOf {
  readonly name?: string;
  readonly wanted?: Json | undefined;
}

/** An example value for `schema`: its own example if it has one; null if it may be null and nothing else is wanted. */
export function sample(
  given: JsonSchema,
  schemas: Schemas,
  { name = "", wanted: asked }: SampleOf = {},
): Json {
  const schema = resolved(given, schemas);
  const wanted = asked ?? EXAMPLE_MEMBERS[nameOf(given)];
  if (wanted !== undefined && !isObject(wanted)) return wanted;
  const [example] = Array.isArray(schema.examples) ? schema.examples : [];
  if (example !== undefined) return example as Json;
  const union = alternatives(schema);
  const [first] = union;
  if (first) return isNullable(union, schemas) ? null : sample(first, schemas, { name, wanted });
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return (schema.enum[0] ?? null) as Json;
  switch (schema.type) {
    case "object":
      return objectSample(schema, schemas, wanted);
    case "array":
      return [sample((schema.items ?? {}) as JsonSchema, schemas, { name })];
    case "integer":
    case "number":
      return Number(schema.minimum ?? 1);
    case "boolean":
      return false;
    default:
      return sampleText(name, schema);
  }
}

function objectSample(
  { required = [], properties = {} }: JsonSchema,
  schemas: Schemas,
  wanted: JsonObject = {},
): Json {
  const members = properties as Readonly<Record<string, JsonSchema>>;
  return Object.fromEntries(
    (required as readonly string[]).map((name) => [
      name,
      sample(members[name] ?? {}, schemas, { name, wanted: wanted[name] }),
    ]),
  );
}
