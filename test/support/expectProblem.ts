import { expect } from "bun:test";
import type { Answer } from "./service.ts";

type Refusal = Pick<Answer, "status" | "json">;

/** What an answer was refused with; `code` is undefined where it was not. */
export function problemOf({ status, json }: Refusal): { readonly status: number; readonly code: unknown } {
  return { status, code: json?.code };
}

/** Expects a refusal, and where it is given, exactly these wrong values. */
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
