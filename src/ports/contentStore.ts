import type { CallOptions } from "./eventStore.ts";

/** Whose bytes these are: one message or one upload of one workspace. Ids are uuids. */
export interface ContentOwner {
  readonly workspaceId: string;
  readonly ownerId: string;
}

/** Where bytes are kept that are too large for an event. Nothing is shared between owners. */
export interface ContentStore {
  /** Identifies this store for the life of the log, so that a wrong directory or bucket is noticed. */
  identity(): Promise<string>;
  /** Keeps `bytes` durably and answers their lower-case hex SHA-256, which is their name under the owner. */
  put(owner: ContentOwner, bytes: Uint8Array, options?: CallOptions): Promise<string>;
  /** The bytes, checked against `sha256`; null when there are none. */
  get(owner: ContentOwner, sha256: string, options?: CallOptions): Promise<Uint8Array | null>;
  /** Removes everything of this owner. Repeatable. */
  removeOwner(owner: ContentOwner, options?: CallOptions): Promise<void>;
}
