import type { JsonObject } from "../../src/kernel/text/json.ts";
import { type Definition, isDefinition } from "./additive.ts";

/** Names the file that events are written to as JSON lines. */
export const RECORDED_VARIABLE = "RECORDED_EVENTS";

/** What a process needs of the environment to write down its events too; nothing while none are recorded. */
export function recordingEnv(): Readonly<Record<string, string | undefined>> {
  const file = process.env[RECORDED_VARIABLE];
  return file === undefined ? {} : { [RECORDED_VARIABLE]: file, BUN_OPTIONS: process.env.BUN_OPTIONS };
}

/** An event as it was appended. */
export interface Recorded {
  readonly type: string;
  readonly metadata: JsonObject;
  readonly data: JsonObject;
  readonly zstd?: string;
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? "list without items" : "list";
  return value === null ? "null" : typeof value;
}

/** The fields that a schema names and that are there, each with the kind of what is in it. */
export function featuresOf(value: unknown, definition: Definition, path = ""): readonly string[] {
  const { properties, items, anyOf } = definition;
  const features = [`${path} ${kindOf(value)}`];
  if (Array.isArray(anyOf)) features.push(...anyOf.flatMap((one) => featuresOf(value, one, path)));
  if (Array.isArray(value) && isDefinition(items))
    features.push(...value.flatMap((item) => featuresOf(item, items, `${path}/*`)));
  if (!isDefinition(value) || !isDefinition(properties)) return features;
  for (const [name, one] of Object.entries(value)) {
    const known = properties[name];
    if (isDefinition(known)) features.push(...featuresOf(one, known, `${path}/${name}`));
  }
  return features;
}

/** Two values of one shape have the same fields, with the same kinds of values. */
export function shapeOf(value: unknown): string {
  if (Array.isArray(value))
    return `[${[...new Set(value.map((item: unknown) => shapeOf(item)))].sort().join(" ")}]`;
  if (!isDefinition(value)) return kindOf(value);
  const fields = Object.entries(value).map(([name, one]) => `${name}:${shapeOf(one)}`);
  return `{${fields.sort().join(" ")}}`;
}
