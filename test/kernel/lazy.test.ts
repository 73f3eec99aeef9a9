import { describe, expect, test } from "bun:test";
import { lazy } from "../../src/kernel/lazy.ts";

describe("a lazy value", () => {
  test("is created once", () => {
    let calls = 0;
    const value = lazy(() => {
      calls += 1;
      return undefined;
    });
    expect(calls).toBe(0);
    expect([value(), value()]).toEqual([undefined, undefined]);
    expect(calls).toBe(1);
  });

  test("is retried after a failure", () => {
    const outcomes = [new Error("not yet"), "there"];
    const value = lazy(() => {
      const outcome = outcomes.shift();
      if (outcome instanceof Error) throw outcome;
      return outcome;
    });
    expect(value).toThrow("not yet");
    expect([value(), value()]).toEqual(["there", "there"]);
  });
});
