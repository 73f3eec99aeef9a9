import type { EventStoreDBClient } from "@eventstore/db-client";
import type { CallOptions, Client, Metadata } from "@grpc/grpc-js";

/** What the vendor's client does with channels and keeps to itself. */
export interface ClientInternals {
  /** Finds the node to talk to when there is no channel. */
  getGRPCClient(kind: typeof Client, name: string): Promise<Client>;
  callArguments(
    base: { readonly requiresLeader: boolean },
    options: { readonly deadline: number },
  ): [Metadata, CallOptions];
  /** Gives the channel up when `error` says that another node, or another connection, is needed. */
  handleError(client: Client, error: Error): Promise<void>;
}

/** For calls that the vendor's generated code makes dearer than all else about them. */
export function clientInternals(client: EventStoreDBClient): ClientInternals {
  return client as unknown as ClientInternals;
}
