import { afterAll, beforeAll } from "bun:test";
import { logIn, type Visitor } from "./dashboard.ts";
import { sharedService } from "./sharedService.ts";
import type { TestStore } from "./stores/stores.ts";
import { startService, type Tenant, type TestService } from "./tenants.ts";

/** A service, a workspace, and a visitor who has logged in with the workspace's key. */
export interface DashboardFixture {
  readonly service: TestService;
  readonly tenant: Tenant;
  readonly visitor: Visitor;
}

/**
 * Makes the fixture once for all tests of a `describe`. Only its tests may use the members. Without `env`, other tests
 * share the service.
 */
export function dashboardFixture(store: TestStore, env?: Readonly<Record<string, string>>): DashboardFixture {
  let service: TestService;
  let tenant: Tenant;
  let visitor: Visitor;
  beforeAll(async () => {
    service = await (env === undefined ? sharedService(store) : startService(store, env));
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

/** Logs in by a log-in link, as the operator does: such a session may do things that affect all workspaces. */
export async function logInAsOperator(service: TestService, { workspaceId }: Tenant): Promise<Visitor> {
  const link = await service.app.app.dashboardLink(workspaceId);
  if (link.kind !== "link") throw new Error(link.kind);
  return logIn(service.url, link.url);
}
