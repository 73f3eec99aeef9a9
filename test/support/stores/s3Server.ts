import { mkdir, mkdtemp, readdir, rename, rm, stat, unlink, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
// @ts-expect-error: the package has no types; the parts that we use are declared below.
import S3rver from "s3rver";

/** The server checks that the access key is known, but not the signature. */
const ACCESS_KEY = "S3RVER";

interface StoredObject {
  readonly bucket: string;
  readonly key: string;
  readonly content: AsyncIterable<Uint8Array>;
  readonly metadata: object;
}

/** The parts of the package that we use and patch. */
interface S3rverInstance {
  readonly store: {
    getResourcePath(bucket: string, key: string, resource: string): string;
    putMetadata(bucket: string, key: string, metadata: object, md5: string): Promise<void>;
    putObject(object: StoredObject): Promise<{ md5: string; size: number }>;
    deleteObject(bucket: string, key: string): Promise<void>;
  };
  readonly middleware: ((context: Context, next: () => Promise<void>) => Promise<void>)[];
  run(): Promise<AddressInfo>;
  close(): Promise<void>;
  readonly httpServer: { closeAllConnections(): void };
}

interface Context {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly method: string;
  readonly url: string;
  status: number;
  body: unknown;
}

/** An S3 server for one test. */
export interface S3Server {
  readonly endpoint: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Called with each request before it is served. Returns an error to answer instead, or null to serve the request. */
  intercept: (method: string, url: string) => { status: number; code: string } | null;
  /** Whether a write with `If-None-Match: *` is refused if the object exists, as newer servers do. */
  isConditional: boolean;
  /** Keys of all objects. */
  keys(): Promise<readonly string[]>;
  /** The file that holds an object. */
  pathOf(key: string): string;
  stop(): Promise<void>;
}

const PAGE_KEYS_MAX = 1_000;

/**
 * ListObjectsV2. The package's own sorts by directory order and encrypts its tokens with a cipher that Bun lacks, so it
 * cannot return a second page.
 */
async function listing(server: S3Server, query: URLSearchParams): Promise<string> {
  const prefix = query.get("prefix") ?? "";
  const after = query.get("continuation-token") ?? query.get("start-after") ?? "";
  const max = Math.min(Number(query.get("max-keys") ?? PAGE_KEYS_MAX), PAGE_KEYS_MAX);
  const keys = (await server.keys()).filter((key) => key.startsWith(prefix) && key > after).sort();
  const page = keys.slice(0, max);
  const objects = page.map(async (key) => {
    const file = await stat(server.pathOf(key)).catch(() => null);
    // S3 reports whole seconds.
    const modified = new Date(Math.floor((file?.mtimeMs ?? 0) / 1_000) * 1_000).toISOString();
    return file === null
      ? ""
      : `<Contents><Key>${key}</Key><LastModified>${modified}</LastModified><ETag>"e"</ETag>` +
          `<Size>${file.size}</Size><StorageClass>STANDARD</StorageClass></Contents>`;
  });
  const isTruncated = keys.length > page.length;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">',
    `<Name>${server.bucket}</Name><Prefix>${prefix}</Prefix><MaxKeys>${max}</MaxKeys>`,
    `<KeyCount>${page.length}</KeyCount><IsTruncated>${isTruncated}</IsTruncated>`,
    isTruncated ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : "",
    ...(await Promise.all(objects)),
    "</ListBucketResult>",
  ].join("");
}

/**
 * The package answers before an object is completely on disk, and two concurrent deletions in one folder can fail. A real
 * S3 does neither, so both are patched here.
 */
function patch(rver: S3rverInstance): void {
  const { store } = rver;
  store.putObject = async ({ bucket, key, content, metadata }) => {
    const path = store.getResourcePath(bucket, key, "object");
    const chunks: Uint8Array[] = [];
    for await (const chunk of content) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const md5 = new Bun.CryptoHasher("md5").update(bytes).digest("hex");
    await mkdir(dirname(path), { recursive: true });
    const temporary = `${path}.${crypto.randomUUID()}`;
    await writeFile(temporary, bytes);
    await store.putMetadata(bucket, key, metadata, md5);
    await rename(temporary, path);
    return { md5, size: bytes.byteLength };
  };
  store.deleteObject = async (bucket, key) => {
    for (const resource of ["object", "object.md5", "metadata.json"]) {
      await unlink(store.getResourcePath(bucket, key, resource)).catch(() => {});
    }
  };
}

/** Runs before the server: injects faults, and implements the conditional write that the package lacks. */
function requestInterceptor(created: Set<string>) {
  return async (server: S3Server, context: Context, next: () => Promise<void>): Promise<void> => {
    const { method, url } = context;
    const refuse = ({ status, code }: { status: number; code: string }) => {
      context.req.resume();
      context.status = status;
      context.body = `<Error><Code>${code}</Code><Message>injected by the test</Message></Error>`;
    };
    const refusal = server.intercept(method, url);
    if (refusal !== null) return refuse(refusal);
    const [path = "", query = ""] = url.split("?", 2);
    if (method === "GET" && path.replace(/\/$/, "") === `/${server.bucket}`) {
      context.status = 200;
      context.body = await listing(server, new URLSearchParams(query));
      return;
    }
    const isCreate = method === "PUT" && context.req.headers["if-none-match"] === "*";
    if (server.isConditional && isCreate) {
      if (created.has(path)) return refuse({ status: 412, code: "PreconditionFailed" });
      created.add(path);
    }
    return next();
  };
}

/** Starts the server on a free port of the loopback, with one empty bucket. */
export async function startS3Server(): Promise<S3Server> {
  const directory = await mkdtemp(join(tmpdir(), "postledger-test-s3-"));
  const bucket = "mail-content";
  const interceptor = requestInterceptor(new Set());
  const rver: S3rverInstance = new S3rver({
    address: "127.0.0.1",
    port: 0,
    silent: true,
    directory,
    vhostBuckets: false,
    configureBuckets: [{ name: bucket }],
  });
  patch(rver);
  rver.middleware.unshift((context, next) => interceptor(server, context, next));
  const { port } = await rver.run();
  const pathOf = (key: string) => rver.store.getResourcePath(bucket, key, "object");
  const files = () => readdir(directory, { recursive: true });
  const server: S3Server = {
    endpoint: `http://127.0.0.1:${port}`,
    bucket,
    accessKeyId: ACCESS_KEY,
    secretAccessKey: ACCESS_KEY,
    intercept: () => null,
    isConditional: true,
    pathOf,
    async keys() {
      const suffix = "._S3rver_object";
      const objects = (await files()).filter((path) => path.endsWith(suffix));
      return objects.map((path) => path.slice(bucket.length + 1, -suffix.length));
    },
    async stop() {
      rver.httpServer.closeAllConnections();
      await rver.close();
      await rm(directory, { recursive: true });
    },
  };
  return server;
}
