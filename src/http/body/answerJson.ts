import type { TObject } from "@sinclair/typebox";
import type { ResponseOf } from "./commonSchemas.ts";

/** `next_attempt_at` as this program calls it: `nextAttemptAt`. */
type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;

/** What an answer is made of: its members under the names of this program, but for `object`, which the schema says. */
type MembersOf<Answer> = {
  readonly [Name in keyof Answer as Name extends "object" ? never : Camel<Name & string>]: Answer[Name];
};

/**
 * Makes the answers of a schema: its members in its order, each from the member of the same name in camelCase, and
 * nothing else of what it is given. A member that is undefined is left out.
 */
export function answerJson<Schema extends TObject>({ properties }: Schema) {
  const members = Object.entries(properties).map(([name, { const: fixed }]) => {
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
