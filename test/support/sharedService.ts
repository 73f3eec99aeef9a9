import { atEndOfTests } from "./endOfTests.ts";
import type { TestStore } from "./stores/stores.ts";
import { startService, type TestService } from "./tenants.ts";

/** Test files may each load their own copy of this module, but share a service. */
const SHARED = Symbol.for("test.service");
const shared = globalThis as { [SHARED]?: Map<TestStore["name"], Promise<TestService>> };

/**
 * The service on `store` that the tests of this process share: for tests that keep to workspaces of their own. A start takes
 * up to a second of a processor. `remove` leaves it to the next tests, and it ends after the last one.
 */
export function sharedService(store: TestStore): Promise<TestService> {
  shared[SHARED] ??= new Map();
  const running = shared[SHARED].get(store.name) ?? startShared(store);
  shared[SHARED].set(store.name, running);
  return running;
}

async function startShared(store: TestStore): Promise<TestService> {
  const service = await startService(store);
  atEndOfTests(() => service.remove());
  return {
    ...service,
    restart: () => Promise.reject(new Error("other tests use this service too")),
    remove: () => service.leaveTenants(),
  };
}
