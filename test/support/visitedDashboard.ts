import { afterAll, beforeAll } from "bun:test";
import { logIn, type Visitor } from "./dashboard.ts";
import type { TestStore } from "./stores/stores.ts";
import { startService, type Tenant, type TestService } from "./tenants.ts";

/** A service, a workspace of it, and somebody who is logged in there with the workspace's key. */
export interface VisitedDashboard {
  readonly service: TestService;
  readonly tenant: Tenant;
  readonly visitor: Visitor;
}

/** Is there for all tests of one `describe`; its members are for use within them. */
export function visitedDashboard(
  store: TestStore,
  env: Readonly<Record<string, string>> = {},
): VisitedDashboard {
  let service: TestService;
  let tenant: Tenant;
  let visitor: Visitor;
  beforeAll(async () => {
    service = await startService(store, env);
    tenant = await service.tenant();
    visitor = await logIn(service.url, tenant.apiKey);
  });
  afterAll(() => service.remove());
  return {
    get service() {
      return service;
    },
    get tenant() {
      return tenant;
    },
    get visitor() {
      return visitor;
    },
  };
}

/** Somebody who came by a log-in link, as the operator does: such a session may do what reaches all workspaces. */
export async function logInAsOperator(service: TestService, { workspaceId }: Tenant): Promise<Visitor> {
  const link = await service.app.app.dashboardLink(workspaceId);
  if (link.kind !== "link") throw new Error(link.kind);
  return logIn(service.url, link.url);
}
