import { afterAll, beforeAll } from "bun:test";
import { type Sink, type SinkHooks, startSmtpSink } from "./mail/smtpSink.ts";
import type { TestStore } from "./stores/stores.ts";
import { startService, type Tenant, type TestService } from "./tenants.ts";

/** A service that delivers mail, the relay that receives it, and a workspace. */
export interface ServiceWithRelay {
  readonly sink: Sink;
  readonly service: TestService;
  readonly tenant: Tenant;
}

interface Options {
  /** What the relay answers. */
  readonly relay?: SinkHooks;
  /** The query of SMTP_URL. */
  readonly query?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the fixture once for all tests of a `describe`. Only its tests may use the members. */
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
    get sink() {
      return sink;
    },
    get service() {
      return service;
    },
    get tenant() {
      return tenant;
    },
  };
}
