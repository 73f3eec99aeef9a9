import { expect, test } from "bun:test";
import { HOUR_MS, MINUTE_MS } from "../../../src/kernel/time.ts";
import { EndpointFailureReports } from "../../../src/reactors/webhookDelivery/endpointFailureReports.ts";

const FAILED = { kind: "failed", reason: "status", retryAfterMs: null } as const;

test("an endpoint that fails and recovers all the time is told once an hour, and one that stays down in any case", () => {
  let now = 0;
  const told: string[] = [];
  const reports = new EndpointFailureReports({ monotonicMs: () => now }, ({ endpointId, report }) => {
    told.push(`${endpointId} ${report.kind}`);
  });
  const fail = (endpointId: string, times: number) => {
    for (let nth = 0; nth < times; nth += 1) reports.note({ workspaceId: "w", endpointId }, FAILED, 503);
  };
  const recover = (endpointId: string) =>
    reports.note({ workspaceId: "w", endpointId }, { kind: "delivered" }, 200);
  for (let minute = 0; minute < 30; minute += 1) {
    fail("flapping", 3);
    recover("flapping");
    now += MINUTE_MS;
  }
  expect(told).toEqual(["flapping began", "flapping ended"]);
  fail("other", 3);
  fail("flapping", 3);
  expect(told.slice(2)).toEqual(["other began"]);
  now += HOUR_MS;
  fail("flapping", 1);
  recover("flapping");
  expect(told.slice(3)).toEqual(["flapping began", "flapping ended"]);
});
