import type { Json } from "../../kernel/text/json.ts";
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

/** Follows a schema that is only a reference. */
function resolved(schema: JsonSchema, schemas: Schemas): JsonSchema {
  const { $ref: reference } = schema;
  if (typeof reference !== "string") return schema;
  return schemas[reference.slice("#/components/schemas/".length)] ?? {};
}

function alternatives(schema: JsonSchema): readonly JsonSchema[] {
  const union = schema.anyOf ?? schema.oneOf;
  return Array.isArray(union) ? (union as readonly JsonSchema[]) : [];
}

function range(low: Json | undefined, high: Json | undefined, unit: string): string {
  if (low === undefined && high === undefined) return "";
  const figure = (value: Json) => Number(value).toLocaleString("en");
  if (low !== undefined && high !== undefined) return `${figure(low)} to ${figure(high)}${unit}`;
  return low === undefined ? `at most ${figure(high as Json)}${unit}` : `at least ${figure(low)}${unit}`;
}

function simpleType(schema: JsonSchema): string {
  const { type, format, contentEncoding, contentMediaType, pattern } = schema;
  const kind = Array.isArray(type) ? type.join(" or ") : String(type ?? "any value");
  const facts = [
    format ?? contentEncoding ?? contentMediaType,
    range(schema.minLength, schema.maxLength, " characters"),
    range(schema.minimum, schema.maximum, ""),
    typeof pattern === "string" ? `matches ${pattern}` : undefined,
  ];
  return [kind, ...facts.filter((fact) => fact !== undefined && fact !== "")].join(", ");
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
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const union = alternatives(schema);
  if (union.length > 0) {
    return [...new Set(union.map((member) => typeText(member, schemas)))].join(" or ");
  }
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

/** Example texts by field name. */
const SAMPLE_TEXTS: Readonly<Record<string, string>> = {
  from: "hello@example.com",
  reply_to: "help@example.com",
  from_name: "Example Shop",
  to_name: "Ana Smithson",
  reply_to_name: "Example help desk",
  subject: "Your order",
  html: "<p>It is on its way.</p>",
  text: "It is on its way.",
  name: "Shop",
  display_name: "Example",
  domain: "example.com",
  filename: "note.txt",
  content_type: "text/plain",
  next_cursor: "WyIyMDMwLTAxLTAxVDAwOjAwOjAwLjAwMFoiXQ",
  reason: "connection_failed",
  transport: "smtp",
  reply: "250 2.0.0 Ok: queued",
  detail: "It is due and waits for a worker.",
  description: "Order status",
  note: "Asked for it by phone.",
  action: "api_key.revoked",
  label: "Shop",
  token: "TOKEN",
  version: "1.0.0",
  request_id: "0123456789abcdefghjk",
  "Idempotency-Key": "order-1042",
};

function sampleText(name: string, { format }: JsonSchema): string {
  if (format === "uuid") return "0192f8a1-7c1e-7b6e-9d55-0f3f4d1c2b3a";
  if (format === "date-time") return "2030-01-01T00:00:00Z";
  if (/url/.test(name)) return "https://hooks.example.com/postledger";
  if (/^(to|email|address)$/.test(name)) return "ana@example.com";
  return SAMPLE_TEXTS[name] ?? (name || "text");
}

/** An example value for `schema`: its own example if it has one. */
export function sample(given: JsonSchema, schemas: Schemas, name = ""): Json {
  const schema = resolved(given, schemas);
  const [example] = Array.isArray(schema.examples) ? schema.examples : [];
  if (example !== undefined) return example as Json;
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return (schema.enum[0] ?? null) as Json;
  const [first] = alternatives(schema);
  if (first) return sample(first, schemas, name);
  switch (schema.type) {
    case "object": {
      const required = (schema.required ?? []) as readonly string[];
      const properties = (schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
      return Object.fromEntries(
        required.map((member) => [member, sample(properties[member] ?? {}, schemas, member)]),
      );
    }
    case "array":
      return [sample((schema.items ?? {}) as JsonSchema, schemas, name)];
    case "integer":
    case "number":
      return Number(schema.minimum ?? 1);
    case "boolean":
      return false;
    default:
      return sampleText(name, schema);
  }
}
