import { afterAll, beforeAll } from "bun:test";
import { type Sink, type SinkHooks, startSmtpSink } from "./mail/smtpSink.ts";
import { madeLater, type ServiceFixture } from "./serviceFixture.ts";
import type { TestStore } from "./stores/stores.ts";
import { startService, type Tenant, type TestService } from "./tenants.ts";

/** A service that delivers mail, the relay that receives it, and a workspace. */
export interface ServiceWithRelay extends ServiceFixture {
  readonly sink: Sink;
}

interface Options {
  /** What the relay answers. */
  readonly relay?: SinkHooks;
  /** The query of SMTP_URL. */
  readonly query?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the fixture once for all tests of a `describe`, as `serviceFixture` does. */
export function serviceWithRelay(
  store: TestStore,
  { relay, query = "", env = {} }: Options = {},
): ServiceWithRelay {
  let sink: Sink;
  let service: TestService;
  let tenant: Tenant;
  beforeAll(async () => {
    sink = await startSmtpSink(relay);
    const SMTP_URL = `smtp://127.0.0.1:${sink.port}${query}`;
    service = await startService(store, { DELIVERY: "on", SMTP_URL, ...env });
    tenant = await service.tenant();
  });
  afterAll(async () => {
    await service.remove();
    await sink.close();
  });
  return {
    sink: madeLater(() => sink),
    service: madeLater(() => service),
    tenant: madeLater(() => tenant),
  };
}
