import { invariant } from "../../kernel/assert.ts";
import { filePath, folderPath, IDENTITY_FILE, LOG_FILE, ownerPath } from "../../kernel/contentPath.ts";
import { sha256Of } from "../../kernel/crypto/sha256.ts";
import {
  type ContentFolder,
  type ContentStore,
  type ContentWriter,
  contentStoreError,
  DamagedContentError,
  KnownIdentity,
  orStoreError,
} from "../../ports/contentStore.ts";
import { foldersAmong, objectsBelow } from "./s3Listing.ts";
import { OBJECT_BYTES_MAX, type S3Location, type S3Requests, s3Requests } from "./s3Requests.ts";

export interface S3ContentStoreOptions extends S3Location {
  /** How long a call may take, or each request of a call that makes many. */
  readonly timeoutMs: number;
  /** How long a first start waits for others that may have started at the same time; see `settled`. */
  readonly settleMs?: number;
}

const SETTLE_MS = 1_000;
const REMOVALS_AT_ONCE = 16;
const [NOT_FOUND, PRECONDITION_FAILED] = [404, 412];

const monotonicMs = () => performance.now();

/** What all calls share. */
interface Bucket {
  readonly requests: S3Requests;
  readonly prefix: string;
  readonly known: KnownIdentity;
  /** When a call must end, or one request of a call that makes many. */
  deadline(): number;
}

/**
 * Content in an S3 bucket: `<prefix><workspace>/<owner>/<folder>/<sha256>`. S3 answers only when an object is durable
 * and visible as a whole, and its reads and lists see every completed write (strong consistency).
 */
export function s3ContentStore({
  timeoutMs,
  settleMs = SETTLE_MS,
  ...location
}: S3ContentStoreOptions): ContentStore {
  const requests = s3Requests(location, monotonicMs);
  const { prefix } = location;
  const deadline = () => monotonicMs() + timeoutMs;
  const known = new KnownIdentity();
  const bucket: Bucket = { requests, prefix, known, deadline };
  const put = (path: string, bytes: Uint8Array, until: number) =>
    requests.send({ method: "PUT", key: prefix + path, body: bytes }, until);
  const remove = (path: string) => orStoreError(() => removeBelow(bucket, path));

  return {
    create: () =>
      orStoreError(async () =>
        known.same(await settled(bucket, IDENTITY_FILE, () => crypto.randomUUID(), settleMs)),
      ),
    identity: () => orStoreError(async () => known.same(await textOf(bucket, IDENTITY_FILE))),
    claimedBy: () => orStoreError(() => textOf(bucket, LOG_FILE)),
    claim: (logId) => orStoreError(() => settled(bucket, LOG_FILE, () => logId, settleMs)),
    now: () => orStoreError(() => clockOf(bucket)),
    async put(folder, bytes) {
      const sha256 = sha256Of(bytes);
      const path = filePath(folder, sha256);
      await orStoreError(() => put(path, bytes, deadline()));
      return sha256;
    },
    async writer(folder) {
      return objectWriter(bucket, folder);
    },
    async get(folder, sha256) {
      const path = filePath(folder, sha256);
      return orStoreError(() => read(bucket, path, sha256, deadline()));
    },
    async link(from, sha256, to) {
      const [source, target] = [filePath(from, sha256), filePath(to, sha256)];
      return orStoreError(async () => {
        const until = deadline();
        // Not copied by the server: this also checks the digest.
        const bytes = await read(bucket, source, sha256, until);
        if (bytes !== null) await put(target, bytes, until);
        return bytes !== null;
      });
    },
    removeOwner: async (owner) => remove(`${ownerPath(owner)}/`),
    removeFolder: async (folder) => remove(`${folderPath(folder)}/`),
    async removeFile(folder, sha256) {
      const path = filePath(folder, sha256);
      await orStoreError(() => removeObject(bucket, prefix + path, deadline()));
    },
    // Only checks the ids: an object appears as a whole, so none is unfinished.
    removeTemporary: async (folder) => void folderPath(folder),
    folders: () => guardedEach(foldersAmong(objectsBelow(requests, prefix, deadline), prefix)),
  };
}

async function textOf(
  { requests, prefix, deadline }: Bucket,
  name: string,
  until = deadline(),
): Promise<string | null> {
  const request = { method: "GET", key: prefix + name, expected: [NOT_FOUND] } as const;
  const { status, bytes } = await requests.send(request, until);
  return status === NOT_FOUND ? null : new TextDecoder().decode(bytes).trim();
}

/**
 * The text of an object that is written once and for good. If several create it at once, a server that honours
 * `If-None-Match` on a write (AWS, MinIO, R2) lets one win. Older servers ignore it and keep the last write, so each
 * creator waits until every other one that found nothing has written too, and then reads the object back.
 */
async function settled(
  bucket: Bucket,
  name: string,
  create: () => string,
  settleMs: number,
): Promise<string> {
  const found = await textOf(bucket, name);
  if (found !== null) return found;
  const { requests, prefix, deadline } = bucket;
  const body = new TextEncoder().encode(`${create()}\n`);
  const headers = { "if-none-match": "*" };
  const request = { method: "PUT", key: prefix + name, body, headers } as const;
  await requests.send({ ...request, expected: [PRECONDITION_FAILED] }, deadline());
  await Bun.sleep(settleMs);
  const kept = await textOf(bucket, name);
  if (kept === null) throw new Error(`the S3 server lost ${name}`);
  return kept;
}

/** The server's time, from the Date of any answer. */
async function clockOf({ requests, prefix, deadline }: Bucket): Promise<number> {
  const request = { method: "HEAD", key: prefix + IDENTITY_FILE, expected: [NOT_FOUND] } as const;
  const { date } = await requests.send(request, deadline());
  if (Number.isNaN(date)) throw new Error("the S3 server sends no Date");
  return date;
}

/** An object is only missing from a bucket, or the part of it, that has the store's identity. */
async function read(
  bucket: Bucket,
  path: string,
  sha256: string,
  deadline: number,
): Promise<Uint8Array | null> {
  const { requests, prefix, known } = bucket;
  const request = { method: "GET", key: prefix + path, expected: [NOT_FOUND] } as const;
  const { status, bytes } = await requests.send(request, deadline);
  if (status === NOT_FOUND) {
    known.requireSame(await textOf(bucket, IDENTITY_FILE, deadline));
    return null;
  }
  if (sha256Of(bytes) !== sha256) throw new DamagedContentError(sha256);
  return bytes;
}

async function removeObject({ requests }: Bucket, key: string, deadline: number): Promise<void> {
  // Some servers answer 404 if there is no such object, as when the answer to a first try was lost.
  await requests.send({ method: "DELETE", key, expected: [NOT_FOUND] }, deadline);
}

async function removeBelow(bucket: Bucket, path: string): Promise<void> {
  const { requests, prefix, deadline } = bucket;
  let batch: string[] = [];
  const removeBatch = async () => {
    await Promise.all(batch.map((key) => removeObject(bucket, key, deadline())));
    batch = [];
  };
  for await (const { key } of objectsBelow(requests, prefix + path, deadline)) {
    batch.push(key);
    if (batch.length === REMOVALS_AT_ONCE) await removeBatch();
  }
  await removeBatch();
}

/** Keeps the bytes in memory until their digest, and so their name, is known. */
function objectWriter({ requests, prefix, deadline }: Bucket, folder: ContentFolder): ContentWriter {
  // Throws on malformed ids before anything is written.
  folderPath(folder);
  let bytes = 0;
  let held: Uint8Array[] = [];
  return {
    async write(chunk) {
      bytes += chunk.byteLength;
      invariant(bytes <= OBJECT_BYTES_MAX, "a file fits into one S3 object");
      // Copied, because the caller may reuse its buffer.
      held.push(chunk.slice());
    },
    finish: () =>
      orStoreError(async () => {
        const body = Buffer.concat(held);
        const sha256 = sha256Of(body);
        await requests.send({ method: "PUT", key: prefix + filePath(folder, sha256), body }, deadline());
        return { sha256, bytes };
      }),
    async abort() {
      held = [];
    },
  };
}

async function* guardedEach<Item>(items: AsyncIterable<Item>): AsyncIterable<Item> {
  try {
    yield* items;
  } catch (error) {
    throw contentStoreError(error);
  }
}
