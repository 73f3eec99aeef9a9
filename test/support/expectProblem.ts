import { expect } from "bun:test";
import type { Answer } from "./service.ts";

type Refusal = Pick<Answer, "status" | "json">;

/** The status and problem code of an answer; `code` is undefined if it is not a problem. */
export function problemOf({ status, json }: Refusal): { readonly status: number; readonly code: unknown } {
  return { status, code: json?.code };
}

/** Expects a refusal with this code, and if `pointers` is given, exactly these invalid fields. */
export function expectProblem(
  answer: Refusal,
  status: number,
  code: string,
  pointers?: readonly string[],
): void {
  expect(problemOf(answer)).toEqual({ status, code });
  if (pointers === undefined) return;
  expect(answer.json.errors.map((error: { pointer: string }) => error.pointer)).toEqual(pointers);
}
