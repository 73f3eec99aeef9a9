import { Type } from "@sinclair/typebox";
import { createCodec, type EventOf } from "../../kernel/event/eventCodec.ts";

/** The stream in which services that share a store record that they work on its log. */
export const SERVICES_STREAM = "services";

const schemas = {
  /** A service works on this log from now on. `host` and `dataDir` tell people which one it is. */
  ServiceJoined: Type.Object({ serviceId: Type.String(), host: Type.String(), dataDir: Type.String() }),
  /** It has nothing in flight and accepts nothing any more: it has ended, or has seen that the log is frozen. */
  ServiceLeft: Type.Object({ serviceId: Type.String() }),
};

/** The names of the types are the storage format. */
export type ServiceRegistryEvent = EventOf<typeof schemas>;
export const serviceRegistryCodec = createCodec(schemas);
