import { describe, expect, test } from "bun:test";
import { thresholdFaults } from "./guardThresholds.ts";

describe("the ratios of a run", () => {
  const thresholds = { send: { min: 0.5 }, cpu: { max: 2 }, reference: { max: 1 } };
  const faults = (ratios: Record<string, number>) =>
    thresholdFaults(ratios, thresholds, new Set(["reference"]));

  test("pass at their thresholds, with or without the optional one", () => {
    expect(faults({ send: 0.5, cpu: 2 })).toEqual([]);
    expect(faults({ send: 0.5, cpu: 2, reference: 1 })).toEqual([]);
  });

  test("fail beyond them, each by name", () => {
    expect(faults({ send: 0.49, cpu: 2.01, reference: 1.5 })).toEqual([
      "send is 0.49: at least 0.5 was wanted",
      "cpu is 2.01: at most 2 was wanted",
      "reference is 1.5: at most 1 was wanted",
    ]);
  });

  test("fail where one was not measured, or is no number", () => {
    expect(faults({ cpu: Number.NaN })).toEqual([
      "send was not measured",
      "cpu is NaN: at least 0 was wanted",
    ]);
  });
});
