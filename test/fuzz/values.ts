import type { JsonSchema } from "../../src/http/reference/typeboxToJsonSchema.ts";
import type { Json } from "../../src/kernel/text/json.ts";
import { document } from "../gate/documentedAnswers.ts";
import { type Random, randomUuid } from "./random.ts";
import type { Workspace } from "./world.ts";

const DEPTH_MAX = 5;
const ITEMS_MAX = 4;
const DAY_MS = 24 * 60 * 60 * 1_000;
/** A date within a year around this one, so that a seed repeats it. */
const TIME_BASE = Date.UTC(2030, 0, 1);

/** A date-time about 2030. */
export function randomTime(random: Random): string {
  return new Date(TIME_BASE + random.integer(-365, 365) * DAY_MS).toISOString();
}

/** Text of a legal length with a canary in it where there is room. */
function text({ minLength, maxLength }: JsonSchema, random: Random, workspace: Workspace): string {
  const low = Number(minLength ?? 0);
  const high = Number(maxLength ?? 40);
  if (random.chance(0.05)) return "é".repeat(Math.max(low, Math.min(high, 1_000)));
  return `${workspace.canary()} ${random.pick(["", "é", "日本", "😀", "a b"])}`
    .slice(0, high)
    .padEnd(low, "x");
}

function formatted(schema: JsonSchema, random: Random, workspace: Workspace): string {
  if (schema.format === "uuid") return randomUuid(random);
  if (schema.format === "date-time") return randomTime(random);
  if (schema.pattern === "^([1-9][0-9]?|100)$") return String(random.integer(1, 100));
  return text(schema, random, workspace);
}

function object(schema: JsonSchema, random: Random, workspace: Workspace, depth: number): Json {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  const required = (schema.required ?? []) as readonly string[];
  const named = Object.entries(properties)
    .filter(([name]) => required.includes(name) || random.chance(0.4))
    .map(([name, property]) => [name, valueFor(property, random, workspace, depth + 1)]);
  const others = schema.additionalProperties;
  if (others === null || typeof others !== "object") return Object.fromEntries(named);
  const count = random.integer(0, ITEMS_MAX);
  const free = Array.from({ length: count }, () => [
    workspace.canary(),
    valueFor(others as JsonSchema, random, workspace, depth + 1),
  ]);
  return Object.fromEntries([...named, ...free]);
}

function anything(random: Random, workspace: Workspace, depth: number): Json {
  const kinds: readonly JsonSchema[] = [
    { type: "string" },
    { type: "integer" },
    { type: "boolean" },
    { type: "null" },
    ...(depth < DEPTH_MAX ? [{ type: "array" }, { type: "object", additionalProperties: {} }] : []),
  ];
  return valueFor(random.pick(kinds), random, workspace, depth);
}

/** A value that `given`, a schema of the document, takes. */
export function valueFor(given: JsonSchema, random: Random, workspace: Workspace, depth = 0): Json {
  const name = typeof given.$ref === "string" ? given.$ref.split("/").at(-1) : undefined;
  const schema = name === undefined ? given : (document.components.schemas[name] as JsonSchema);
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return random.pick(schema.enum as readonly Json[]);
  if (Array.isArray(schema.anyOf)) {
    return valueFor(random.pick(schema.anyOf as readonly JsonSchema[]), random, workspace, depth + 1);
  }
  if (Array.isArray(schema.type)) {
    return valueFor({ ...schema, type: random.pick(schema.type) }, random, workspace, depth + 1);
  }
  switch (schema.type) {
    case "string":
      return formatted(schema, random, workspace);
    case "integer":
    case "number":
      return random.integer(Number(schema.minimum ?? -1_000), Number(schema.maximum ?? 1_000));
    case "boolean":
      return random.chance(0.5);
    case "null":
      return null;
    case "array": {
      const low = Number(schema.minItems ?? 0);
      const count = random.integer(
        low,
        Math.max(low, Math.min(ITEMS_MAX, Number(schema.maxItems ?? ITEMS_MAX))),
      );
      const items = (schema.items ?? {}) as JsonSchema;
      const array = Array.from({ length: count }, () => valueFor(items, random, workspace, depth + 1));
      return schema.uniqueItems === true ? [...new Set(array)] : array;
    }
    case "object":
      return object(schema, random, workspace, depth);
    default:
      return anything(random, workspace, depth);
  }
}
