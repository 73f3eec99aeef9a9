import { StoreError } from "./eventStore.ts";

/** Whose bytes these are: one message or one upload of one workspace. Ids are uuids. */
interface ContentOwner {
  readonly workspaceId: string;
  readonly ownerId: string;
}

/**
 * Where one request puts its bytes: a folder that no other request writes, named by a fresh uuid. So if a folder
 * is older than any request can be, and its owner's stream does not name it yet, the stream never will.
 */
export interface ContentFolder extends ContentOwner {
  readonly folderId: string;
}

export interface FoundFolder extends ContentFolder {
  /** When its newest file was written, in epoch ms by the content store's clock ({@link ContentStore.now}). */
  readonly modifiedAt: number;
  /** Whether an interrupted write has left an unfinished file in it. */
  readonly hasTemporary: boolean;
}

/**
 * Bytes being written. Call `finish` or `abort` exactly once; a `finish` that throws counts. A writer that is never
 * ended keeps a file open, and the runtime treats that as a fault of the whole process.
 */
export interface ContentWriter {
  /** Takes the next bytes; settles when it can take more. */
  write(chunk: Uint8Array): Promise<void>;
  /** Makes the file durable. Returns its length and its lower-case hex SHA-256, which is its name in the folder. */
  finish(): Promise<{ readonly sha256: string; readonly bytes: number }>;
  /** Leaves nothing behind. */
  abort(): Promise<void>;
}

/**
 * Keeps bytes that are too large for an event. Nothing is shared between owners. Throws {@link
 * ContentStoreError} when the store fails, and a plain error on malformed ids. A store that is not in its place (a
 * directory that is not mounted, say) has failed: nothing is missing from it. Every adapter passes the same suite,
 * `test/contract/contentStore.ts`.
 */
export interface ContentStore {
  /** Creates the store unless it exists, and returns its identity. No other call creates one. */
  create(): Promise<string>;
  /**
   * Identifies this store for the life of the log, so that a wrong directory or bucket is noticed. Null if no store is
   * there. Throws if another one is there than the first time.
   */
  identity(): Promise<string | null>;
  /** The log that this content belongs to; null while no log has claimed it. */
  claimedBy(): Promise<string | null>;
  /** Claims this store for a log, once and for good. Returns the log that claimed it first. */
  claim(logId: string): Promise<string>;
  /** The store's own clock, epoch ms. It is another machine's clock, so it may be wrong when ours is right. */
  now(): Promise<number>;
  /** Stores `bytes` durably and returns their lower-case hex SHA-256, which is their name in the folder. */
  put(folder: ContentFolder, bytes: Uint8Array): Promise<string>;
  /** Opens one file for writing in pieces. S3 keeps them in memory until `finish`; a directory does not. */
  writer(folder: ContentFolder): Promise<ContentWriter>;
  /** The bytes; null when there is no such file. Throws {@link DamagedContentError} if they do not match `sha256`. */
  get(folder: ContentFolder, sha256: string): Promise<Uint8Array | null>;
  /**
   * Gives `to` the file too, durably; removing either owner leaves the other's file. False if `from` has no such file.
   */
  link(from: ContentFolder, sha256: string, to: ContentFolder): Promise<boolean>;
  /** Removes one file of a folder and leaves the others. Repeatable. */
  removeFile(folder: ContentFolder, sha256: string): Promise<void>;
  /** Removes everything of this owner. Repeatable. */
  removeOwner(owner: ContentOwner): Promise<void>;
  /** Removes one folder. Repeatable. */
  removeFolder(folder: ContentFolder): Promise<void>;
  /** Removes unfinished files of interrupted writes from a folder that nobody writes any more. Repeatable. */
  removeTemporary(folder: ContentFolder): Promise<void>;
  /** Every folder, in no order; may miss folders written or removed during the listing. */
  folders(): AsyncIterable<FoundFolder>;
}

/** The content store failed, not the log. */
export class ContentStoreError extends StoreError {
  constructor(message: string, options?: ErrorOptions) {
    super("unavailable", message, options);
  }
}

/** The content store has other bytes than were stored, so a retry helps only once somebody has put them back. */
export class DamagedContentError extends ContentStoreError {
  constructor(sha256: string) {
    super(`content ${sha256} is damaged: its digest is another one`);
  }
}

/** Notices that another content store, or none, is where one was found before. */
export class KnownIdentity {
  private known: string | null = null;

  /** Returns what was `found`. Throws {@link ContentStoreError} if that is another identity than before. */
  same<Found extends string | null>(found: Found): Found {
    if (found === null) return found;
    this.known ??= found;
    if (found === this.known) return found;
    throw new ContentStoreError("another content store is in the place of this one");
  }

  /** Throws {@link ContentStoreError} unless the `found` identity is there, and the same as before. */
  requireSame(found: string | null): void {
    if (this.same(found) !== null) return;
    throw new ContentStoreError("the content store is not in its place: its `identity` is missing");
  }
}

/** What a call throws when the content store fails. */
export function contentStoreError(cause: unknown): ContentStoreError {
  if (cause instanceof ContentStoreError) return cause;
  return new ContentStoreError("the content store cannot be used", { cause });
}

/** Runs `work` and turns everything it throws into a {@link contentStoreError}. */
export async function orStoreError<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw contentStoreError(error);
  }
}
