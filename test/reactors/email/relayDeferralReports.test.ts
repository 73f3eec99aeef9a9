import { describe, expect, test } from "bun:test";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../src/kernel/time.ts";
import { RelayDeferralReports } from "../../../src/reactors/email/relayDeferralReports.ts";
import type { RelayReport } from "../../../src/reactors/email/relayOutageReports.ts";

describe("reports of a relay that defers everybody", () => {
  const world = () => {
    let now = 0;
    const told: RelayReport[] = [];
    const reports = new RelayDeferralReports({ monotonicMs: () => now }, (report) => told.push(report));
    let recipients = 0;
    return {
      ...{ told, reports },
      pass: (ms: number) => {
        now += ms;
      },
      deferTen: () => {
        for (let nth = 0; nth < 10; nth += 1) {
          recipients += 1;
          reports.deferred({ emailId: `e${recipients}`, recipientHash: `r${recipients}`, reason: "x: 450" });
        }
      },
    };
  };

  test("do not fill the log while a message is sent between many that are deferred", () => {
    const { told, reports, pass, deferTen } = world();
    for (let nth = 0; nth < 100; nth += 1) {
      deferTen();
      pass(59 * SECOND_MS);
      reports.sent();
    }
    expect(told).toEqual([]);
    expect(reports.trouble).toBeNull();
  });

  test("end when nothing is deferred any more, because what waited was canceled", () => {
    const { told, reports, pass, deferTen } = world();
    deferTen();
    pass(MINUTE_MS);
    deferTen();
    pass(6 * HOUR_MS);
    expect(reports.trouble).not.toBeNull();
    expect(reports.troubleMs).toBe(6 * HOUR_MS);
    pass(1);
    expect(reports.trouble).toBeNull();
    // What is deferred from now on is another trouble.
    deferTen();
    expect(reports.trouble).toBeNull();
    pass(MINUTE_MS);
    deferTen();
    expect(told.map(({ kind }) => kind)).toEqual(["began", "began"]);
    reports.sent();
    expect(told.at(-1)).toEqual({ kind: "ended", forMs: 0, attempts: 10 });
  });
});
