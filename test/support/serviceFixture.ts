import { afterAll, beforeAll } from "bun:test";
import { sharedService } from "./sharedService.ts";
import type { TestStore } from "./stores/stores.ts";
import { startService, type Tenant, type TestService } from "./tenants.ts";

/** A service and a workspace. */
export interface ServiceFixture {
  readonly service: TestService;
  readonly tenant: Tenant;
}

/**
 * Makes the fixture once for all tests of a `describe`, which may name its members at once and use them while they run.
 * Without `env`, other tests share the service.
 */
export function serviceFixture(store: TestStore, env?: Readonly<Record<string, string>>): ServiceFixture {
  let service: TestService;
  let tenant: Tenant;
  beforeAll(async () => {
    service = await (env === undefined ? sharedService(store) : startService(store, env));
    tenant = await service.tenant();
  });
  afterAll(() => service.remove());
  return { service: madeLater(() => service), tenant: madeLater(() => tenant) };
}

/** Stands for what `made` gives, which may be there later: each member is read from that. */
export function madeLater<T extends object>(made: () => T): T {
  return new Proxy({} as T, { get: (_, name) => Reflect.get(made(), name) });
}
