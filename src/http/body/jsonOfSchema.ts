import type { TObject } from "@sinclair/typebox";
import type { ResponseOf } from "./commonSchemas.ts";

/** `next_attempt_at` in this program's spelling: `nextAttemptAt`. */
type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;

/** The input of an answer: its members in this program's spelling, except `object`, which the schema fixes. */
type MembersOf<Answer> = {
  readonly [Name in keyof Answer as Name extends "object" ? never : Camel<Name & string>]: Answer[Name];
};

/**
 * Builds answers of a schema: its members in its order, each from the member of the same name in camelCase, and
 * nothing else. Leaves out undefined members. A required member with one possible value has it without being given.
 */
export function jsonOfSchema<Schema extends TObject>({ properties, required = [] }: Schema) {
  const members = Object.entries(properties).map(([name, { const: literal }]) => {
    const fixed = required.includes(name) ? literal : undefined;
    return { name, from: name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()), fixed };
  });
  return (given: MembersOf<ResponseOf<Schema>>): ResponseOf<Schema> => {
    const answer: Record<string, unknown> = {};
    for (const { name, from, fixed } of members) {
      const value = fixed ?? (given as Readonly<Record<string, unknown>>)[from];
      if (value !== undefined) answer[name] = value;
    }
    return answer as ResponseOf<Schema>;
  };
}
