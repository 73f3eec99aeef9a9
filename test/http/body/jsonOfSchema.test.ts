import { expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { Closed } from "../../../src/http/body/commonSchemas.ts";
import { jsonOfSchema } from "../../../src/http/body/jsonOfSchema.ts";

const Sample = Closed({
  id: Type.String(),
  object: Type.Literal("thing"),
  next_attempt_at: Type.Union([Type.String(), Type.Null()]),
  tag: Type.Optional(Type.String()),
});

test("an answer has the members of its schema in its order, and nothing else of what it was made of", () => {
  const row = { nextAttemptAt: null, secret: "whsec", id: "1", tag: "a" };
  const answer = jsonOfSchema(Sample)(row);
  expect(JSON.stringify(answer)).toBe('{"id":"1","object":"thing","next_attempt_at":null,"tag":"a"}');
});

test("an optional member with one possible value is there only if it was given", () => {
  const json = jsonOfSchema(Closed({ source: Type.Optional(Type.Literal("operator")) }));
  expect(json({})).toEqual({});
  expect(json({ source: "operator" })).toEqual({ source: "operator" });
});

test("what is undefined is left out", () => {
  const row: { nextAttemptAt: string | null; id: string; tag?: string } = { nextAttemptAt: null, id: "1" };
  expect(Object.keys(jsonOfSchema(Sample)(row))).toEqual(["id", "object", "next_attempt_at"]);
});
