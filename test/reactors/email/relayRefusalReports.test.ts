import { describe, expect, test } from "bun:test";
import { HOUR_MS, MINUTE_MS } from "../../../src/kernel/time.ts";
import {
  type Refusal,
  type RelayRefusalReport,
  RelayRefusalReports,
} from "../../../src/reactors/email/relayRefusalReports.ts";

const REFUSAL: Refusal = {
  emailId: "one",
  route: "shop to example.org",
  reason: "sender_rejected",
  code: 554,
};

describe("reports of refusals", () => {
  test("come at once, then once a minute with their count, and stay recent for an hour", () => {
    let now = 0;
    const reports: RelayRefusalReport[] = [];
    const clock = { monotonicMs: () => now, now: () => now };
    const refusalReports = new RelayRefusalReports(clock, (report) => reports.push(report));
    expect(refusalReports.recent).toBeNull();
    for (let index = 0; index < 5; index += 1) refusalReports.refused(REFUSAL);
    expect(reports).toEqual([{ ...REFUSAL, failed: 1 }]);
    now += MINUTE_MS;
    refusalReports.refused({ ...REFUSAL, emailId: "six" });
    expect(reports.slice(1)).toEqual([{ ...REFUSAL, emailId: "six", failed: 5 }]);
    now += HOUR_MS;
    expect(refusalReports.recent?.last.emailId).toBe("six");
    now += 1;
    expect(refusalReports.recent).toBeNull();
  });

  test("are recent until a message of the same sender to the same domain is sent", () => {
    let now = 1;
    const refusalReports = new RelayRefusalReports({ monotonicMs: () => now, now: () => now }, () => {});
    const other: Refusal = { ...REFUSAL, emailId: "other", route: "shop to example.com" };
    for (const refusal of [REFUSAL, REFUSAL, other]) {
      now += 1;
      refusalReports.refused(refusal);
    }
    refusalReports.sent("news to example.org");
    expect(refusalReports.recent).toEqual({ failed: 3, last: other, lastAt: 4 });
    refusalReports.sent(other.route);
    expect(refusalReports.recent).toEqual({ failed: 2, last: REFUSAL, lastAt: 3 });
    refusalReports.sent(REFUSAL.route);
    expect(refusalReports.recent).toBeNull();
  });
});
