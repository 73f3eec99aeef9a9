import { never } from "../../kernel/assert.ts";
import type { Decider } from "../../kernel/event/decider.ts";
import type { ServiceRegistryEvent } from "./events.ts";

/** Where a service runs. */
export interface ServiceLocation {
  readonly host: string;
  readonly dataDir: string;
}

/** The services that have joined and not left, by id: those that run, and those that died. */
export type ServiceRegistryState = ReadonlyMap<string, ServiceLocation>;

function evolve(state: ServiceRegistryState, event: ServiceRegistryEvent): ServiceRegistryState {
  const services = new Map(state);
  switch (event.type) {
    case "ServiceJoined": {
      const { serviceId, host, dataDir } = event.data;
      return services.set(serviceId, { host, dataDir });
    }
    case "ServiceLeft":
      services.delete(event.data.serviceId);
      return services;
    default:
      return never(event);
  }
}

export const serviceRegistryDecider: Decider<ServiceRegistryState, ServiceRegistryEvent> = {
  initialState: new Map(),
  evolve,
};
