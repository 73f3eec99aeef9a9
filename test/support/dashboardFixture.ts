import { beforeAll } from "bun:test";
import { logIn, type Visitor } from "./dashboard.ts";
import { madeLater, type ServiceFixture, serviceFixture } from "./serviceFixture.ts";
import type { TestStore } from "./stores/stores.ts";
import type { Tenant, TestService } from "./tenants.ts";

/** A service, a workspace, and a visitor who has logged in with the workspace's key. */
export interface DashboardFixture extends ServiceFixture {
  readonly visitor: Visitor;
}

/** As {@link serviceFixture}. */
export function dashboardFixture(store: TestStore, env?: Readonly<Record<string, string>>): DashboardFixture {
  const fixture = serviceFixture(store, env);
  let visitor: Visitor;
  beforeAll(async () => {
    visitor = await logIn(fixture.service.url, fixture.tenant.apiKey);
  });
  return { ...fixture, visitor: madeLater(() => visitor) };
}

/** Logs in by a log-in link, as the operator does: such a session may do things that affect all workspaces. */
export async function logInAsOperator(service: TestService, { workspaceId }: Tenant): Promise<Visitor> {
  const link = await service.app.app.dashboardLink(workspaceId);
  if (link.kind !== "link") throw new Error(link.kind);
  return logIn(service.url, link.url);
}
