import { type CallOptions, StoreError } from "./eventStore.ts";

/** Whose bytes these are: one message or one upload of one workspace. Ids are uuids. */
export interface ContentOwner {
  readonly workspaceId: string;
  readonly ownerId: string;
}

/**
 * Where one request puts its bytes: a folder that no other request writes, named by a fresh uuid. So a folder
 * that its owner's stream does not name, and that is older than any request can be, never will be named.
 */
export interface ContentFolder extends ContentOwner {
  readonly folderId: string;
}

/** A folder that a sweep has come upon. */
export interface FoundFolder extends ContentFolder {
  /** When the newest thing in it was written, epoch ms, by the content store's clock ({@link ContentStore.now}). */
  readonly modifiedAt: number;
  /** Whether an interrupted write has left something in it that has no name yet. */
  readonly hasTemporary: boolean;
}

/**
 * Bytes on their way in. Ends with `finish` or `abort`, once; a `finish` that throws has ended it too. One that
 * is left without an end keeps a file open, which the runtime takes for a fault of the whole process.
 */
export interface ContentWriter {
  /** Takes the next bytes; settles when more may come. */
  write(chunk: Uint8Array): Promise<void>;
  /** Makes the whole durable. Answers its lower-case hex SHA-256, which is its name in the folder, and its length. */
  finish(): Promise<{ readonly sha256: string; readonly bytes: number }>;
  /** Leaves nothing behind. */
  abort(): Promise<void>;
}

/**
 * Where bytes are kept that are too large for an event. Nothing is shared between owners. Throws `StoreError`
 * (`unavailable`) when the store does not do its part, and a plain error on ids that are none. Every adapter
 * passes the one suite in `test/contract/contentStore.ts`.
 */
export interface ContentStore {
  /** Identifies this store for the life of the log, so that a wrong directory or bucket is noticed. */
  identity(): Promise<string>;
  /** The log whose content this is; null while none has claimed it. */
  claimedBy(): Promise<string | null>;
  /** Names the log whose content this is, once for good. Answers the one that was named first. */
  claim(logId: string): Promise<string>;
  /** The store's own clock, epoch ms: another machine's, which may go wrong where ours goes right. */
  now(): Promise<number>;
  /** Keeps `bytes` durably and answers their lower-case hex SHA-256, which is their name in the folder. */
  put(folder: ContentFolder, bytes: Uint8Array, options?: CallOptions): Promise<string>;
  /** Opens one file for writing, so that it never is in memory as a whole. */
  writer(folder: ContentFolder): Promise<ContentWriter>;
  /** The bytes, checked against `sha256`; null when there are none. */
  get(folder: ContentFolder, sha256: string, options?: CallOptions): Promise<Uint8Array | null>;
  /**
   * Gives `to` the bytes too, durably: removing either owner leaves the other's. False when `from` has none.
   */
  link(from: ContentFolder, sha256: string, to: ContentFolder, options?: CallOptions): Promise<boolean>;
  /** Removes one file of a folder and leaves the others. Repeatable. */
  removeFile(folder: ContentFolder, sha256: string, options?: CallOptions): Promise<void>;
  /** Removes everything of this owner. Repeatable. */
  removeOwner(owner: ContentOwner, options?: CallOptions): Promise<void>;
  /** Removes one folder. Repeatable. */
  removeFolder(folder: ContentFolder, options?: CallOptions): Promise<void>;
  /** Removes what interrupted writes have left in a folder that nobody writes any more. Repeatable. */
  removeTemporary(folder: ContentFolder, options?: CallOptions): Promise<void>;
  /** Every folder there is, in no order; one that is written or removed meanwhile may be missing. */
  folders(): AsyncIterable<FoundFolder>;
}

/** What a call throws whose content store fails it. */
export function contentStoreError(cause: unknown): StoreError {
  return new StoreError("unavailable", "the content store cannot be used", { cause });
}

/** What `work` settles with; all that it throws becomes a {@link contentStoreError}. */
export async function orStoreError<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw contentStoreError(error);
  }
}
