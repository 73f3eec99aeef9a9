import {
  SERVICES_STREAM,
  type ServiceRegistryEvent,
  serviceRegistryCodec,
} from "../../domain/serviceRegistry/events.ts";
import {
  type ServiceLocation,
  type ServiceRegistryState,
  serviceRegistryDecider,
} from "../../domain/serviceRegistry/state.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { decided } from "../../kernel/event/decider.ts";
import { newId } from "../../kernel/ids.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import type { RememberedServiceId } from "../../ports/rememberedServiceId.ts";
import { instanceAggregate } from "../aggregateDefinitions.ts";
import { type Loaded, load, transact } from "../transact.ts";
import { requireNotFrozen } from "./openInstance.ts";

const registry = { decider: serviceRegistryDecider, codec: serviceRegistryCodec, stream: SERVICES_STREAM };

/** One of the services that work on a log. */
export interface ServiceMembership {
  /** Its id in the registry and in its claims. */
  readonly serviceId: string;
  /** The dead service that used its data directory before: none of its claims is in flight. Null: unknown. */
  readonly predecessor: string | null;
  /** Records that this service will write nothing more. Once recorded, a repeat does nothing. */
  leave(): Promise<void>;
}

/** Joining and leaving do not depend on the other services, so this never reads the stream, which may be long. */
async function note(store: EventStore, event: ServiceRegistryEvent, context: CommandContext): Promise<void> {
  const since = async () => ({
    state: serviceRegistryDecider.initialState,
    revision: await store.lastRevision(SERVICES_STREAM),
  });
  const written = { ...registry, since };
  await transact(store, written, () => decided(null, event), context);
}

interface JoiningService {
  readonly location: ServiceLocation;
  /** The memory in its data directory, whose lock it holds. */
  readonly memory: RememberedServiceId;
}

/** Joins without an entry in the log, where nobody asks for one: only the data directory remembers the service. */
export function joinUnregistered(memory: RememberedServiceId): ServiceMembership {
  const predecessor = memory.previous();
  const serviceId = newId();
  memory.remember(serviceId);
  return { serviceId, predecessor, leave: async () => memory.forget() };
}

/**
 * Registers a service before it writes anything, so a freeze waits for it. Only then checks whether the log is frozen: a
 * freeze that does not see our entry came before it, so we see the freeze. Also removes the dead service that used this
 * data directory before. No other may be presumed dead: a silent one may only be suspended and go on writing.
 * Throws what {@link requireNotFrozen} throws.
 */
export async function registerService(
  store: EventStore,
  { location, memory }: JoiningService,
  context: () => CommandContext,
): Promise<ServiceMembership> {
  const predecessor = memory.previous();
  if (predecessor !== null) {
    await note(store, { type: "ServiceLeft", data: { serviceId: predecessor } }, context());
    memory.forget();
  }
  const serviceId = newId();
  memory.remember(serviceId);
  await note(store, { type: "ServiceJoined", data: { serviceId, ...location } }, context());
  let hasLeft = false;
  const leave = async () => {
    if (hasLeft) return;
    await note(store, { type: "ServiceLeft", data: { serviceId } }, context());
    hasLeft = true;
    memory.forget();
  };
  try {
    const { state } = await load(store, instanceAggregate);
    requireNotFrozen({ frozenAt: state?.frozenAt ?? null });
  } catch (error) {
    // Report why the service may not run here, even if recording its leave fails.
    await leave().catch(() => {});
    throw error;
  }
  return { serviceId, predecessor, leave };
}

/** Makes a function that returns the services now registered. Each call reads only the new events. */
export function registeredServices(store: EventStore): () => Promise<readonly ServiceLocation[]> {
  let loaded: Loaded<ServiceRegistryState> | undefined;
  return async () => {
    loaded = await load(store, registry, loaded);
    return [...loaded.state.values()];
  };
}
