import { type ServiceRegisterEvent, serviceRegisterCodec } from "../../domain/serviceRegister/events.ts";
import {
  type ServiceLocation,
  type ServiceRegisterState,
  serviceRegisterDecider,
} from "../../domain/serviceRegister/state.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { decided } from "../../kernel/event/decider.ts";
import { SERVICES_STREAM } from "../../kernel/event/storeLocalEvents.ts";
import { newId } from "../../kernel/ids.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import type { RememberedServiceId } from "../../ports/rememberedServiceId.ts";
import { instanceAggregate } from "../aggregateDefinitions.ts";
import { type Loaded, load, transact } from "../transact.ts";
import { requireNotFrozen } from "./openInstance.ts";

const register = { decider: serviceRegisterDecider, codec: serviceRegisterCodec, stream: SERVICES_STREAM };

/** A service among those that work on a log. */
export interface ServiceMembership {
  /** Names it in the register, and in its claims. */
  readonly serviceId: string;
  /** The service that was on its data directory before, and died: nothing that it claimed is under way. Null: unknown. */
  readonly predecessor: string | null;
  /** Notes that nothing is under way there that could still be written. Once it is noted, a repeat does nothing. */
  leave(): Promise<void>;
}

/** Nobody needs to know the others to join or leave, so a stream that has grown long is not read for it. */
async function note(store: EventStore, event: ServiceRegisterEvent, context: CommandContext): Promise<void> {
  const since = async () => ({
    state: serviceRegisterDecider.initialState,
    revision: await store.lastRevision(SERVICES_STREAM),
  });
  const written = { ...register, since };
  await transact(store, written, () => decided(null, event), context);
}

/** Where a service joins from. */
export interface JoiningService {
  readonly location: ServiceLocation;
  /** Of its data directory, whose lock it holds. */
  readonly memory: RememberedServiceId;
}

/** Joins where nobody asks the log who works on it: only the data directory remembers the service. */
export function joinUnregistered(memory: RememberedServiceId): ServiceMembership {
  const predecessor = memory.previous();
  const serviceId = newId();
  memory.remember(serviceId);
  return { serviceId, predecessor, leave: async () => memory.forget() };
}

/**
 * Notes that a service works on the log: before it writes anything, so that whoever freezes the log waits for it. Whether
 * the log is frozen is read after that: a freeze that does not find the entry was there before it, and is seen here.
 * The service that was on this data directory before, and died, is taken out of the register. Only this one may be taken
 * for dead: another that is silent may be paused, and go on writing.
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
    // The reason why it may not work here is reported, and not that it could not be recorded.
    await leave().catch(() => {});
    throw error;
  }
  return { serviceId, predecessor, leave };
}

/** The services that have joined and not left, each time as the log has it then: only what is new is read. */
export function registeredServices(store: EventStore): () => Promise<readonly ServiceLocation[]> {
  let loaded: Loaded<ServiceRegisterState> | undefined;
  return async () => {
    loaded = await load(store, register, loaded);
    return [...loaded.state.values()];
  };
}
