import { expect } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import type { Operation } from "../../src/http/operation.ts";
import type { Answer } from "./service.ts";

/** The answer is one that the operation promises: its status, and nothing but what the schema says. */
export function expectOperation({ success, repeat, problems }: Operation, answer: Answer): void {
  const { status, json } = answer;
  if (status >= 400) {
    const shared = ["UNAUTHORIZED", "FORBIDDEN", "INVALID_REQUEST", "INTERNAL_ERROR"];
    expect([...problems, ...shared]).toContain(json?.code);
    return;
  }
  expect([success.status, repeat?.status]).toContain(status as 200);
  if (success.schema === null) {
    expect(answer.text).toBe("");
    return;
  }
  const [fault] = Value.Errors(success.schema, json);
  expect({ fault: fault && `${fault.path}: ${fault.message}` }).toEqual({ fault: undefined });
}
