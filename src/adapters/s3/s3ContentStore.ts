import {
  filePath,
  folderPath,
  IDENTITY_FILE,
  isTemporaryName,
  LOG_FILE,
  ownerPath,
  temporaryName,
} from "../../kernel/contentPath.ts";
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
import type { CallOptions } from "../../ports/eventStore.ts";
import { foldersAmong, objectsBelow } from "./s3Listing.ts";
import { PART_BYTES, type S3MultipartUpload, s3MultipartUpload } from "./s3MultipartUpload.ts";
import { type S3Location, type S3Requests, s3Requests } from "./s3Requests.ts";

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
  /** The most bytes that a writer keeps in memory. */
  readonly heldBytesMax: number;
  /** When a call must end, or one request of a call that makes many. */
  deadline(options?: CallOptions): number;
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
  const deadline = (options?: CallOptions) => monotonicMs() + (options?.timeoutMs ?? timeoutMs);
  // Bun's client cannot ask for encryption in a multipart upload. No caller writes as much as one part.
  const heldBytesMax = location.serverSideEncryption ? Number.POSITIVE_INFINITY : PART_BYTES;
  const known = new KnownIdentity();
  const bucket: Bucket = { requests, prefix, known, heldBytesMax, deadline };
  const put = (path: string, bytes: Uint8Array, until: number) =>
    requests.send({ method: "PUT", key: prefix + path, body: bytes }, until);
  const remove = (path: string, only: (name: string) => boolean, options?: CallOptions) =>
    orStoreError(() => removeBelow(bucket, path, only, options));

  return {
    create: () =>
      orStoreError(async () =>
        known.same(await settled(bucket, IDENTITY_FILE, () => crypto.randomUUID(), settleMs)),
      ),
    identity: () => orStoreError(async () => known.same(await textOf(bucket, IDENTITY_FILE))),
    claimedBy: () => orStoreError(() => textOf(bucket, LOG_FILE)),
    claim: (logId) => orStoreError(() => settled(bucket, LOG_FILE, () => logId, settleMs)),
    now: () => orStoreError(() => clockOf(bucket)),
    async put(folder, bytes, options) {
      const sha256 = sha256Of(bytes);
      const path = filePath(folder, sha256);
      await orStoreError(() => put(path, bytes, deadline(options)));
      return sha256;
    },
    async writer(folder) {
      return objectWriter(bucket, folder);
    },
    async get(folder, sha256, options) {
      const path = filePath(folder, sha256);
      return orStoreError(() => read(bucket, path, sha256, deadline(options)));
    },
    async link(from, sha256, to, options) {
      const [source, target] = [filePath(from, sha256), filePath(to, sha256)];
      return orStoreError(async () => {
        const until = deadline(options);
        // We read and write the bytes, because Bun's client cannot copy on the server. That also checks the digest.
        const bytes = await read(bucket, source, sha256, until);
        if (bytes !== null) await put(target, bytes, until);
        return bytes !== null;
      });
    },
    removeOwner: async (owner, options) => remove(`${ownerPath(owner)}/`, () => true, options),
    removeFolder: async (folder, options) => remove(`${folderPath(folder)}/`, () => true, options),
    async removeFile(folder, sha256, options) {
      const path = filePath(folder, sha256);
      await orStoreError(() => removeObject(bucket, prefix + path, deadline(options)));
    },
    removeTemporary: async (folder, options) => remove(`${folderPath(folder)}/`, isTemporaryName, options),
    folders: () =>
      guardedEach(
        foldersAmong(
          objectsBelow(requests, prefix, () => deadline()),
          prefix,
        ),
      ),
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

async function removeBelow(
  bucket: Bucket,
  path: string,
  only: (name: string) => boolean,
  options?: CallOptions,
): Promise<void> {
  const { requests, prefix, deadline } = bucket;
  // A `timeoutMs` limits the call as a whole; without it only each request is limited.
  const whole = options?.timeoutMs === undefined ? null : deadline(options);
  const until = () => whole ?? deadline();
  let batch: string[] = [];
  const removeBatch = async () => {
    await Promise.all(batch.map((key) => removeObject(bucket, key, until())));
    batch = [];
  };
  for await (const { key } of objectsBelow(requests, prefix + path, until)) {
    if (only(key.slice(key.lastIndexOf("/") + 1))) batch.push(key);
    if (batch.length === REMOVALS_AT_ONCE) await removeBatch();
  }
  await removeBatch();
}

/**
 * Keeps `heldBytesMax` in memory until their digest is known, and then puts them under its name. Anything longer goes to a
 * temporary object piece by piece; when the digest is known, that is copied to its name and checked.
 */
function objectWriter(bucket: Bucket, folder: ContentFolder): ContentWriter {
  const { requests, prefix, heldBytesMax, deadline } = bucket;
  const temporary = `${prefix}${folderPath(folder)}/${temporaryName()}`;
  const hasher = new Bun.CryptoHasher("sha256");
  let bytes = 0;
  let held: Uint8Array[] = [];
  let upload: S3MultipartUpload | null = null;
  const removeTemporaryObject = () => removeObject(bucket, temporary, deadline()).catch(() => {});

  const write = async (chunk: Uint8Array) => {
    hasher.update(chunk);
    bytes += chunk.byteLength;
    if (upload === null && bytes <= heldBytesMax) {
      // Copied, because the caller may reuse its buffer.
      held.push(chunk.slice());
      return;
    }
    const waiting = upload === null ? [...held, chunk] : [chunk];
    held = [];
    upload ??= s3MultipartUpload(requests, temporary, deadline);
    for (const part of waiting) await upload.write(part);
  };
  const finish = async () => {
    const sha256 = hasher.digest("hex");
    const key = prefix + filePath(folder, sha256);
    if (upload === null) {
      await requests.send({ method: "PUT", key, body: Buffer.concat(held) }, deadline());
      return { sha256, bytes };
    }
    try {
      await upload.end();
      const parts = Math.ceil(bytes / PART_BYTES);
      await copyObject(bucket, { from: temporary, to: key, sha256, parts });
    } finally {
      await removeTemporaryObject();
    }
    return { sha256, bytes };
  };
  return {
    write: (chunk) => orStoreError(() => write(chunk)),
    finish: () => orStoreError(finish),
    abort: () =>
      orStoreError(async () => {
        held = [];
        if (upload === null) return;
        await upload.end().catch(() => {});
        await removeTemporaryObject();
      }),
  };
}

interface Copy {
  readonly from: string;
  readonly to: string;
  readonly sha256: string;
  /** How many parts there are: the copy may take the time of that many requests. */
  readonly parts: number;
}

/** Copies part by part. Removes the copy again if its digest does not match its name. */
async function copyObject(bucket: Bucket, { from, to, sha256, parts }: Copy): Promise<void> {
  const { requests, deadline } = bucket;
  const hasher = new Bun.CryptoHasher("sha256");
  const upload = s3MultipartUpload(requests, to, deadline);
  const now = monotonicMs();
  for await (const chunk of await requests.stream(from, now + (deadline() - now) * (parts + 1))) {
    hasher.update(chunk);
    await upload.write(chunk);
  }
  await upload.end();
  if (hasher.digest("hex") === sha256) return;
  await removeObject(bucket, to, deadline());
  throw new Error(`content ${sha256} was damaged in transit`);
}

async function* guardedEach<Item>(items: AsyncIterable<Item>): AsyncIterable<Item> {
  try {
    yield* items;
  } catch (error) {
    throw contentStoreError(error);
  }
}
