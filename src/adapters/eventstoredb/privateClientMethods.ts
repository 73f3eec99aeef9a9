import type { EventStoreDBClient } from "@eventstore/db-client";
import type { CallOptions, Client, Metadata } from "@grpc/grpc-js";

/** How the vendor's client handles channels, which it does not expose. */
export interface PrivateClientMethods {
  /** Finds a node and connects to it if there is no channel yet. */
  getGRPCClient(kind: typeof Client, name: string): Promise<Client>;
  callArguments(
    base: { readonly requiresLeader: boolean },
    options: { readonly deadline: number },
  ): [Metadata, CallOptions];
  /** Drops the channel if `error` means that another node or connection is needed. */
  handleError(client: Client, error: Error): Promise<void>;
}

/** For calls whose largest cost would be the vendor's generated code. */
export function privateClientMethods(client: EventStoreDBClient): PrivateClientMethods {
  return client as unknown as PrivateClientMethods;
}
