import { describe, expect, test } from "bun:test";
import { RelayOutageReports, type RelayReport } from "../../../src/reactors/email/relayOutageReports.ts";

const FAULT = { trouble: "unreachable", reason: "ECONNREFUSED" } as const;

function world() {
  let now = 0;
  const reports: RelayReport[] = [];
  const outageReports = new RelayOutageReports({ monotonicMs: () => now }, (report) => reports.push(report));
  return {
    reports,
    outageReports,
    faults(count: number, everyMs: number) {
      for (let index = 0; index < count; index += 1) {
        outageReports.fault(FAULT);
        now += everyMs;
      }
    },
    kinds: () => reports.map(({ kind }) => kind),
  };
}

describe("reports of relay outages", () => {
  test("do not come while all is well, nor for a hiccup", () => {
    const { outageReports, faults, kinds } = world();
    outageReports.success();
    faults(2, 100);
    outageReports.success();
    faults(1, 100);
    outageReports.success();
    expect(kinds()).toEqual([]);
  });

  test("come when an outage begins, once a minute while it lasts, and when it ends", () => {
    const { outageReports, faults, reports, kinds } = world();
    faults(180, 1_000);
    outageReports.success();
    outageReports.success();
    expect(kinds()).toEqual(["began", "lasts", "lasts", "ended"]);
    expect(reports[0]).toEqual({ kind: "began", fault: FAULT });
    expect(reports[1]).toEqual({ kind: "lasts", fault: FAULT, forMs: 62_000, attempts: 63 });
    expect(reports.at(-1)).toEqual({ kind: "ended", forMs: 180_000, attempts: 180 });
  });

  test("come even for failures that are few and far between", () => {
    const { faults, kinds } = world();
    faults(2, 30_000);
    expect(kinds()).toEqual(["began"]);
  });

  test("come at once for a refused log-in, which does not heal by itself", () => {
    const { outageReports, kinds } = world();
    outageReports.fault({ trouble: "login_refused", reason: "535" });
    expect(kinds()).toEqual(["began"]);
  });

  test("come at once when the trouble becomes another one, and once a minute if it changes back and forth", () => {
    const { outageReports, faults, reports, kinds } = world();
    const refused = { trouble: "login_refused", reason: "535" } as const;
    faults(5, 1_000);
    outageReports.fault(refused);
    expect(reports.at(-1)).toEqual({ kind: "changed", fault: refused, forMs: 5_000, attempts: 6 });
    for (let times = 0; times < 29; times += 1) {
      faults(1, 1_000);
      outageReports.fault(refused);
    }
    expect(kinds()).toEqual(["began", "changed"]);
    faults(32, 1_000);
    expect(kinds()).toEqual(["began", "changed", "lasts"]);
    outageReports.success();
    faults(3, 100);
    outageReports.fault(refused);
    expect(kinds().slice(3)).toEqual(["ended", "began", "changed"]);
  });

  test("start over after an end", () => {
    const { outageReports, faults, kinds } = world();
    faults(5, 10);
    outageReports.success();
    faults(5, 10);
    expect(kinds()).toEqual(["began", "ended", "began"]);
  });
});
