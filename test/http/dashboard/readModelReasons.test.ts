import { expect, test } from "bun:test";
import type { Page, PageContext } from "../../../src/http/dashboard/frame/dashboardRoute.ts";
import { maintenanceRoutes } from "../../../src/http/dashboard/maintenance/maintenanceRoutes.tsx";

const REASON = "stopped at EmailQueued, stream email-of-another-workspace, revision 1";
const STATE = { name: "emails", state: "failed", isCaughtUp: true, behindSince: null, failure: REASON };
const VERIFIED = {
  name: "emails",
  rows: 1,
  differences: 0,
  failure: REASON,
  finishedAt: "2026-11-22T00:00:00Z",
};

test("why a read model stopped is for the operator: it may name another workspace's messages", async () => {
  const parts = {
    deps: { clock: { now: () => Date.parse("2026-11-22T01:00:00Z") } },
    maintenance: { running: () => null, last: () => null, version: () => "1" },
    readModelStates: async () => [{ ...STATE, verified: VERIFIED }],
  };
  const routes = maintenanceRoutes(parts as unknown as Parameters<typeof maintenanceRoutes>[0]);
  const route = routes.find(({ method, path }) => method === "GET" && path === "/audit/read-models");
  const reasonShownTo = async (hasOwnKey: boolean) => {
    const context = { session: { hasOwnKey }, formToken: "t", to: (path: string) => path, may: () => true };
    const page = (await route?.answer(context as unknown as PageContext)) as Page;
    return String(page.body);
  };
  expect(await reasonShownTo(true)).toContain("email-of-another-workspace");
  const tenants = await reasonShownTo(false);
  expect(tenants).not.toContain("email-of-another-workspace");
  expect(tenants).toContain("log says why");
});
