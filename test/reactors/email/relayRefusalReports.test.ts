import { describe, expect, test } from "bun:test";
import { HOUR_MS, MINUTE_MS } from "../../../src/kernel/time.ts";
import {
  type Refusal,
  type RelayRefusalReport,
  RelayRefusalReports,
} from "../../../src/reactors/email/relayRefusalReports.ts";

const REFUSAL: Refusal = { emailId: "one", reason: "sender_rejected", code: 554 };

describe("reports of refusals", () => {
  test("come at once, then once a minute with their count, and stay recent for an hour", () => {
    let now = 0;
    const reports: RelayRefusalReport[] = [];
    const refusalReports = new RelayRefusalReports({ monotonicMs: () => now }, (report) =>
      reports.push(report),
    );
    expect(refusalReports.recent).toBeNull();
    for (let index = 0; index < 5; index += 1) refusalReports.refused(REFUSAL);
    expect(reports).toEqual([{ ...REFUSAL, failed: 1 }]);
    now += MINUTE_MS;
    refusalReports.refused({ ...REFUSAL, emailId: "six" });
    expect(reports.slice(1)).toEqual([{ ...REFUSAL, emailId: "six", failed: 5 }]);
    now += HOUR_MS;
    expect(refusalReports.recent?.emailId).toBe("six");
    now += 1;
    expect(refusalReports.recent).toBeNull();
  });
});
