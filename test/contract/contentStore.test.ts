import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import {
  cp,
  link,
  mkdir,
  mkdtemp,
  readdir,
  rename,
  rm,
  rmdir,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { directoryContentStore } from "../../src/adapters/directory/directoryContentStore.ts";
import { s3ContentStore } from "../../src/adapters/s3/s3ContentStore.ts";
import { OBJECT_BYTES_MAX } from "../../src/adapters/s3/s3Requests.ts";
import { FILE_BYTES_MAX } from "../../src/domain/attachment/fileSizeLimit.ts";
import { filePath, folderPath, temporaryName } from "../../src/kernel/contentPath.ts";
import { sha256Of } from "../../src/kernel/crypto/sha256.ts";
import type { ContentFolder, ContentStore, FoundFolder } from "../../src/ports/contentStore.ts";
import { StoreError } from "../../src/ports/eventStore.ts";
import { memoryContentStore } from "../support/stores/memoryContentStore.ts";
import { type S3Server, startS3Server } from "../support/stores/s3Server.ts";
import { until } from "../support/until.ts";
import { contentStoreContract } from "./contentStore.ts";

const MARKS: ReadonlySet<string> = new Set(["identity", "log"]);
const MINUTE_MS = 60_000;
/** The calls that look whether there is a store at all, or make one. */
const FIND_NO_STORE: ReadonlySet<string> = new Set(["create", "identity", "claimedBy"]);
const NONE = "0".repeat(64);
const bytesOf = (text: string) => new TextEncoder().encode(text);

function newFolder(): ContentFolder {
  return {
    workspaceId: crypto.randomUUID(),
    ownerId: crypto.randomUUID(),
    folderId: crypto.randomUUID(),
  };
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => "no failure",
    (error: unknown) => error,
  );
}

async function expectUnavailable(work: Promise<unknown>, cause = ""): Promise<void> {
  const failure = await failureOf(work);
  expect(failure).toBeInstanceOf(StoreError);
  expect(failure).toMatchObject({ failure: "unavailable" });
  expect(String((failure as StoreError).cause)).toContain(cause);
}

/** Every call that needs the store, by its name. */
function callsOf(store: ContentStore): Readonly<Record<string, () => Promise<unknown>>> {
  const folder = newFolder();
  const sha256 = sha256Of(bytesOf("x"));
  return {
    create: () => store.create(),
    identity: () => store.identity(),
    claimedBy: () => store.claimedBy(),
    claim: () => store.claim(crypto.randomUUID()),
    now: () => store.now(),
    put: () => store.put(folder, bytesOf("x")),
    get: () => store.get(folder, sha256),
    link: () => store.link(folder, sha256, newFolder()),
    removeOwner: () => store.removeOwner(folder),
    removeFolder: () => store.removeFolder(folder),
    removeFile: () => store.removeFile(folder, sha256),
    removeTemporary: () => store.removeTemporary(folder),
    folders: () => Array.fromAsync(store.folders()),
    writer: async () => (await store.writer(folder)).finish(),
  };
}

async function findFolder(
  store: ContentStore,
  { folderId }: ContentFolder,
): Promise<FoundFolder | undefined> {
  for await (const found of store.folders()) if (found.folderId === folderId) return found;
  return undefined;
}

/** Renames a directory, and leaves nothing or an empty one; returns what undoes that. */
async function takeAway(directory: string, left: "nothing" | "empty"): Promise<() => Promise<void>> {
  const away = `${directory}.away`;
  await rename(directory, away);
  if (left === "empty") await mkdir(directory);
  return async () => {
    if (left === "empty") await rm(directory, { recursive: true });
    await rename(away, directory);
  };
}

describe("a directory keeps the content store's contract", () => {
  contentStoreContract(async () => {
    const base = await mkdtemp(join(tmpdir(), "postledger-test-content-"));
    const root = join(base, "content");
    const files = async () => {
      const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => []);
      return entries
        .filter((entry) => entry.isFile() && !MARKS.has(entry.name))
        .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
        .sort();
    };
    return {
      name: "directory",
      open: async () => directoryContentStore(root),
      openNew: async () => directoryContentStore(join(base, crypto.randomUUID())),
      files,
      async bytes() {
        const sizes = await Promise.all((await files()).map((path) => stat(join(root, path))));
        return sizes.reduce((sum, { size }) => sum + size, 0);
      },
      damage: (path, bytes) => writeFile(join(root, path), bytes),
      takeAway: (left) => takeAway(root, left),
      clockStepMs: 10,
      close: () => rm(base, { recursive: true }),
    };
  });
});

describe("S3 keeps the content store's contract", () => {
  contentStoreContract(async () => {
    const server = await startS3Server();
    const { endpoint, bucket, accessKeyId, secretAccessKey } = server;
    const location = { endpoint, bucket, accessKeyId, secretAccessKey, region: "us-east-1" };
    const open = (prefix: string) => s3ContentStore({ ...location, prefix, timeoutMs: 20_000, settleMs: 20 });
    return {
      name: "s3",
      open: async () => open("mail/"),
      openNew: async () => open(`${crypto.randomUUID()}/`),
      async files() {
        const keys = (await server.keys()).filter((key) => key.startsWith("mail/"));
        return keys.map((key) => key.slice("mail/".length)).filter((key) => !MARKS.has(key));
      },
      bytes: null,
      damage: (path, bytes) => writeFile(server.pathOf(`mail/${path}`), bytes),
      async takeAway(left) {
        const bringBack = await takeAway(dirname(dirname(server.pathOf("mail/identity"))), left);
        // It remembers which names were taken, those of the bucket that is away included.
        server.isConditional = false;
        return async () => {
          await bringBack();
          server.isConditional = true;
        };
      },
      clockStepMs: 1_000,
      close: () => server.stop(),
    };
  });
});

describe("the store in memory that tests use keeps the content store's contract", () => {
  contentStoreContract(async () => {
    const kept = new Map<string, { readonly bytes: Uint8Array; readonly modifiedAt: number }>();
    const store = memoryContentStore(kept);
    return {
      name: "memory",
      open: async () => store,
      openNew: async () => memoryContentStore(),
      files: async () => [...kept.keys()],
      bytes: null,
      damage: async (path, bytes) => void kept.set(path, { bytes, modifiedAt: Date.now() }),
      takeAway: null,
      clockStepMs: 0,
      close: async () => {},
    };
  });
});

describe("content in a directory", () => {
  let root: string;
  let store: ContentStore;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "postledger-test-content-"));
    store = directoryContentStore(root);
    await store.create();
  });
  afterAll(() => rm(root, { recursive: true }));

  test("can be read by its owner alone", async () => {
    const folder = newFolder();
    const path = join(root, filePath(folder, await store.put(folder, bytesOf("x"))));
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(root, folderPath(folder)))).mode & 0o777).toBe(0o700);
  });

  test("that cannot be reached is unavailable for every call", async () => {
    await writeFile(join(root, "a-file"), "not a directory");
    const calls = callsOf(directoryContentStore(join(root, "a-file", "content")));
    for (const call of Object.values(calls)) await expectUnavailable(call());
  });

  test("is as young as its newest file, whether that is growing or is a link to an old one", async () => {
    const folder = newFolder();
    const long = new Date(Date.now() - 60 * MINUTE_MS);
    const writer = await store.writer(folder);
    const path = join(root, folderPath(folder));
    await writer.write(bytesOf("grows"));
    await utimes(path, long, long);
    const growing = await findFolder(store, folder);
    expect(growing?.modifiedAt).toBeGreaterThan(Date.now() - MINUTE_MS);
    expect(growing?.hasTemporary).toBeTrue();

    const { sha256 } = await writer.finish();
    await utimes(join(path, sha256), long, long);
    await utimes(path, long, long);
    expect((await findFolder(store, folder))?.modifiedAt).toBeLessThan(Date.now() - 59 * MINUTE_MS);
    const to = newFolder();
    await store.link(folder, sha256, to);
    expect((await findFolder(store, to))?.modifiedAt).toBeGreaterThan(Date.now() - MINUTE_MS);
  });

  test("loses leftovers of interrupted writes, and nothing else", async () => {
    const folder = newFolder();
    const sha256 = await store.put(folder, bytesOf("kept"));
    const path = join(root, folderPath(folder));
    await writeFile(join(path, temporaryName()), "half");
    expect((await findFolder(store, folder))?.hasTemporary).toBeTrue();
    await store.removeTemporary(folder);
    expect(await readdir(path)).toEqual([sha256]);
    expect((await findFolder(store, folder))?.hasTemporary).toBeFalse();
  });

  test("is not created anew, written to or cleaned where it is not mounted", async () => {
    const folder = newFolder();
    const sha256 = await store.put(folder, bytesOf("kept"));
    const bringBack = await takeAway(root, "nothing");
    for (const [name, call] of Object.entries(callsOf(store)))
      if (!FIND_NO_STORE.has(name)) await expectUnavailable(call());
    expect(await readdir(dirname(root))).not.toContain(basename(root));
    await bringBack();
    const mountBack = await takeAway(root, "empty");
    for (const [name, call] of Object.entries(callsOf(store)))
      if (!FIND_NO_STORE.has(name)) await expectUnavailable(call());
    expect(await readdir(root)).toEqual([]);
    await mountBack();
    expect(await store.get(folder, sha256)).toEqual(bytesOf("kept"));
  });

  test("that comes back as a copy is the same store", async () => {
    const folder = newFolder();
    const sha256 = await store.put(folder, bytesOf("kept"));
    await cp(root, `${root}.copy`, { recursive: true });
    const undo = await takeAway(root, "nothing");
    await rename(`${root}.copy`, root);
    expect(await store.get(folder, sha256)).toEqual(bytesOf("kept"));
    expect(await store.get(folder, NONE)).toBeNull();
    await store.put(folder, bytesOf("more"));
    await rm(root, { recursive: true });
    await undo();
  });

  test("leaves no empty folders", async () => {
    const folder = newFolder();
    const neighbour = { ...newFolder(), workspaceId: folder.workspaceId };
    for (const one of [folder, neighbour]) await store.put(one, bytesOf("x"));
    await store.removeFolder(folder);
    expect(await readdir(join(root, folder.workspaceId))).toEqual([neighbour.ownerId]);
    await store.removeFile(neighbour, sha256Of(bytesOf("x")));
    expect(await readdir(root)).not.toContain(folder.workspaceId);
  });

  test("can be written into a folder that is being removed as empty", async () => {
    const { workspaceId, ownerId } = newFolder();
    let isDone = false;
    const pruners = Array.from({ length: 3 }, async () => {
      while (!isDone) {
        await rmdir(join(root, workspaceId, ownerId)).catch(() => {});
        await rmdir(join(root, workspaceId)).catch(() => {});
      }
    });
    try {
      for (let round = 0; round < 120; round += 1) {
        const folder = { workspaceId, ownerId, folderId: crypto.randomUUID() };
        const writer = await store.writer(folder);
        await writer.abort();
        await store.removeFolder(folder);
      }
    } finally {
      isDone = true;
      await Promise.all(pruners);
    }
    expect(await readdir(root)).not.toContain(workspaceId);
  }, 60_000);

  test("a file at the file system's limit of hard links is copied instead", async () => {
    const folder = newFolder();
    const sha256 = await store.put(folder, bytesOf("popular"));
    const path = join(root, filePath(folder, sha256));
    const names = join(root, "names");
    await mkdir(names);
    let limit = 0;
    for (; limit < 70_000; limit += 1) {
      const isFull = await link(path, join(names, String(limit))).then(
        () => false,
        () => true,
      );
      if (isFull) break;
    }
    const to = newFolder();
    expect(await store.link(folder, sha256, to)).toBeTrue();
    expect(await store.get(to, sha256)).toEqual(bytesOf("popular"));
    // Where the file system sets no limit there was nothing to see but a link.
    if (limit < 70_000) expect((await stat(join(root, filePath(to, sha256)))).nlink).toBe(1);
    await rm(names, { recursive: true });
  }, 60_000);

  test("a writer whose folder is removed fails and leaves nothing", async () => {
    const folder = newFolder();
    const writer = await store.writer(folder);
    await writer.write(bytesOf("x"));
    await store.removeOwner(folder);
    await expectUnavailable(writer.finish());
    expect(await findFolder(store, folder)).toBeUndefined();
  });
});

describe("content on S3", () => {
  let server: S3Server;
  const CALL_MS = 400;
  const storeAt = (endpoint: string, parts: { bucket?: string; accessKeyId?: string } = {}) => {
    const { bucket, accessKeyId, secretAccessKey } = server;
    const location = { bucket, accessKeyId, secretAccessKey, region: "us-east-1", prefix: "p/", ...parts };
    return s3ContentStore({ ...location, endpoint, timeoutMs: CALL_MS, settleMs: 20 });
  };
  const expectFailsInTime = async (work: () => Promise<unknown>, cause?: string) => {
    const before = performance.now();
    await expectUnavailable(work(), cause);
    expect(performance.now() - before).toBeLessThan(CALL_MS + 5_000);
  };
  /** Nothing is ever unfinished, so that call asks nothing of the server. */
  const requestsOf = (store: ContentStore) => {
    const { removeTemporary: _, ...requests } = callsOf(store);
    return requests;
  };
  beforeAll(async () => {
    server = await startS3Server();
  });
  afterEach(() => {
    server.intercept = () => null;
  });
  afterAll(() => server.stop());

  test("whose server is down is unavailable in time for every call", async () => {
    const stoppedServer = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
    const store = storeAt(`http://127.0.0.1:${stoppedServer.port}`);
    await stoppedServer.stop(true);
    for (const call of Object.values(requestsOf(store))) await expectFailsInTime(call);
  }, 60_000);

  test("whose server hangs is unavailable in time for every call", async () => {
    const hangingServer = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      idleTimeout: 0,
      fetch: () => new Promise<Response>(() => {}),
    });
    for (const call of Object.values(requestsOf(storeAt(`http://127.0.0.1:${hangingServer.port}`))))
      await expectFailsInTime(call);
    await hangingServer.stop(true);
  }, 60_000);

  test("whose server fails is unavailable, with the server's message", async () => {
    server.intercept = () => ({ status: 500, code: "InternalError" });
    for (const call of Object.values(requestsOf(storeAt(server.endpoint)))) await expectFailsInTime(call);
    await expectFailsInTime(
      () => storeAt(server.endpoint).put(newFolder(), bytesOf("x")),
      "500 InternalError",
    );
    server.intercept = () => ({ status: 400, code: "KMS.NotFoundException" });
    await expectFailsInTime(
      () => storeAt(server.endpoint).put(newFolder(), bytesOf("x")),
      "400 KMS.NotFoundException",
    );
    server.intercept = () => null;
  }, 60_000);

  test("whose server fails and then hangs is unavailable with its message; one that stays silent times out", async () => {
    let hasFailed = false;
    const hangingBodyServer = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      idleTimeout: 0,
      fetch() {
        if (hasFailed) return new Promise<Response>(() => {});
        hasFailed = true;
        return new Response("<Code>InternalError</Code>", { status: 500 });
      },
    });
    const store = storeAt(`http://127.0.0.1:${hangingBodyServer.port}`);
    await expectFailsInTime(() => store.put(newFolder(), bytesOf("x")), "500 InternalError");
    await expectFailsInTime(
      () => store.put(newFolder(), bytesOf("x")),
      "the S3 server did not answer in time",
    );
    await hangingBodyServer.stop(true);
  }, 60_000);

  test("whose server fails now and then is still served", async () => {
    let requests = 0;
    server.intercept = (method) => {
      requests += 1;
      return method !== "GET" && requests % 2 === 1 ? { status: 503, code: "SlowDown" } : null;
    };
    const store = s3ContentStore({
      ...server,
      region: "us-east-1",
      prefix: "flaky/",
      timeoutMs: 10_000,
    });
    const folder = newFolder();
    for (let index = 0; index < 5; index += 1) {
      const bytes = bytesOf(`${index}`);
      expect(await store.get(folder, await store.put(folder, bytes))).toEqual(bytes);
    }
    await store.removeFolder(folder);
    server.intercept = () => null;
    expect((await server.keys()).filter((key) => key.includes(folder.folderId))).toEqual([]);
  }, 60_000);

  test("holds no more of a file than can be read again, which is more than any file has", async () => {
    const writer = await storeAt(server.endpoint).writer(newFolder());
    await writer.write(new Uint8Array(FILE_BYTES_MAX));
    const failure = await failureOf(writer.write(new Uint8Array(OBJECT_BYTES_MAX)));
    expect(String(failure)).toContain("a file fits into one S3 object");
    await writer.abort();
  });

  test("that denies access says why at once", async () => {
    let requests = 0;
    const folder = newFolder();
    server.intercept = (_method, url) => {
      if (url.includes(folder.folderId)) requests += 1;
      return { status: 403, code: "AccessDenied" };
    };
    await expectFailsInTime(() => storeAt(server.endpoint).put(folder, bytesOf("x")), "403 AccessDenied");
    expect(requests).toBe(1);
    for (const call of Object.values(requestsOf(storeAt(server.endpoint)))) await expectFailsInTime(call);
    server.intercept = () => null;
    const otherKeyStore = storeAt(server.endpoint, { accessKeyId: "stranger" });
    await expectFailsInTime(() => otherKeyStore.identity(), "403 InvalidAccessKeyId");
  }, 60_000);

  test("removes a file again, where a server says that there is no such object", async () => {
    const store = storeAt(server.endpoint);
    const folder = newFolder();
    const sha256 = await store.put(folder, bytesOf("x"));
    await store.removeFile(folder, sha256);
    server.intercept = (method) => (method === "DELETE" ? { status: 404, code: "NoSuchKey" } : null);
    await store.removeFile(folder, sha256);
    server.intercept = () => null;
  }, 60_000);

  test("in a bucket that does not exist is unavailable, never missing", async () => {
    const store = storeAt(server.endpoint, { bucket: "no-such-bucket" });
    // The server still sends its time.
    const { now: _now, ...calls } = requestsOf(store);
    for (const call of Object.values(calls)) await expectFailsInTime(call);
    await expectFailsInTime(() => store.get(newFolder(), sha256Of(bytesOf("x"))), "404 NoSuchBucket");
  }, 60_000);

  test("behind a server that is not S3 is unavailable: neither missing nor kept", async () => {
    let status = 404;
    const lost = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => new Response("<html>This is another server.</html>", { status }),
    });
    const store = storeAt(`http://127.0.0.1:${lost.port}`);
    const [folder, sha256] = [newFolder(), sha256Of(bytesOf("x"))];
    await expectFailsInTime(() => store.get(folder, sha256), "404");
    await expectFailsInTime(() => store.link(folder, sha256, newFolder()), "404");
    await expectFailsInTime(() => store.identity(), "404");
    status = 200;
    await expectFailsInTime(() => store.put(folder, bytesOf("x")), "without an ETag");
    await expectFailsInTime(async () => (await store.writer(folder)).finish(), "without an ETag");
    await lost.stop(true);
  }, 60_000);

  test("without an end is not read until it fills the memory", async () => {
    const PIECE = new Uint8Array(1_024 * 1_024);
    const [PIECES_MAX, READ_MAX] = [1_000, 100];
    let [given, hasEnded] = [0, false];
    const endless = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      idleTimeout: 0,
      fetch: () =>
        new Response(
          new ReadableStream({
            type: "bytes",
            async pull(controller) {
              given += 1;
              if (given === PIECES_MAX) return controller.close();
              controller.enqueue(PIECE.slice());
              // Yields to the reader.
              await Bun.sleep(0);
            },
            cancel() {
              hasEnded = true;
            },
          }),
        ),
    });
    const { bucket, accessKeyId, secretAccessKey } = server;
    const location = { bucket, accessKeyId, secretAccessKey, region: "us-east-1", prefix: "p/" };
    const endpoint = `http://127.0.0.1:${endless.port}`;
    const store = s3ContentStore({ ...location, endpoint, timeoutMs: 20_000 });
    for (const call of [
      () => store.get(newFolder(), sha256Of(bytesOf("x"))),
      () => Array.fromAsync(store.folders()),
      () => store.removeOwner(newFolder()),
    ]) {
      [given, hasEnded] = [0, false];
      await expectUnavailable(call(), "more bytes than any object has");
      await until(() => hasEnded, "the end of the answer");
      expect(given).toBeLessThan(READ_MAX);
    }
    await endless.stop(true);
  }, 60_000);

  test("that answers a list with something else is unavailable, not empty", async () => {
    let answer = "<html>This is another server.</html>";
    const other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(answer) });
    const store = storeAt(`http://127.0.0.1:${other.port}`);
    await expectUnavailable(Array.fromAsync(store.folders()), "something else than a list");
    // Cut off in the middle, as by a proxy.
    answer = '<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated>';
    await expectUnavailable(store.removeOwner(newFolder()), "something else than a list");
    await other.stop(true);
  }, 60_000);

  test("whose list names other objects or starts over fails, and removes nothing else", async () => {
    const folder = newFolder();
    const stranger = `p/${filePath(newFolder(), sha256Of(bytesOf("x")))}`;
    const own = `p/${filePath(folder, sha256Of(bytesOf("x")))}`;
    let listed = [own, stranger];
    const removed: string[] = [];
    const lyingServer = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch(request) {
        if (request.method === "DELETE") removed.push(new URL(request.url).pathname);
        const objects = listed.map(
          (key) =>
            `<Contents><Key>${key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>"e"</ETag>` +
            "<Size>1</Size><StorageClass>STANDARD</StorageClass></Contents>",
        );
        const page = `<Name>b</Name><IsTruncated>true</IsTruncated>${objects.join("")}`;
        return new Response(`<?xml version="1.0"?><ListBucketResult>${page}</ListBucketResult>`);
      },
    });
    const store = storeAt(`http://127.0.0.1:${lyingServer.port}`);
    await expectUnavailable(store.removeOwner(folder), "that were not asked for");
    expect(removed).toEqual([]);
    listed = [own];
    await expectUnavailable(Array.fromAsync(store.folders()), "the same objects again");
    await expectUnavailable(store.removeOwner(folder), "the same objects again");
    listed = [];
    await expectUnavailable(store.removeOwner(folder), "lists nothing, and says that there is more");
    await lyingServer.stop(true);
  }, 60_000);

  test("has one identity for all who start at once, even on a server without conditional writes", async () => {
    for (const isConditional of [true, false]) {
      server.isConditional = isConditional;
      const location = { ...server, region: "us-east-1", timeoutMs: 5_000, settleMs: 200 };
      const stores = Array.from({ length: 5 }, () =>
        s3ContentStore({ ...location, prefix: `${isConditional}/` }),
      );
      const ids = await Promise.all(stores.map((store) => store.identity()));
      expect(new Set(ids).size).toBe(1);
    }
  });

  test("asks for encryption with every object that it writes, in a signed header, and with nothing else", async () => {
    const name = "x-amz-server-side-encryption";
    const keyName = `${name}-aws-kms-key-id`;
    const asked: (readonly (string | null)[])[] = [];
    const recorder = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      async fetch(request) {
        const { pathname, search, searchParams } = new URL(request.url);
        const { method, headers } = request;
        const signed = searchParams.get("X-Amz-SignedHeaders");
        asked.push([method, signed, headers.get(name), headers.get(keyName)]);
        const body = method === "PUT" ? { body: await request.bytes() } : {};
        return fetch(`${server.endpoint}${pathname}${search}`, { method, headers, ...body });
      },
    });
    const endpoint = `http://127.0.0.1:${recorder.port}`;
    const { bucket, accessKeyId, secretAccessKey } = server;
    const location = { bucket, accessKeyId, secretAccessKey, region: "us-east-1", prefix: "encrypted/" };
    const limits = { timeoutMs: 20_000, settleMs: 20 };
    const encryptions = [
      { serverSideEncryption: "AES256", kmsKeyId: null },
      { serverSideEncryption: "aws:kms", kmsKeyId: null },
      { serverSideEncryption: "aws:kms", kmsKeyId: "arn:aws:kms:eu-central-1:111122223333:key/1234abcd" },
    ] as const;
    for (const encryption of encryptions) {
      const store = s3ContentStore({ ...location, endpoint, ...limits, ...encryption });
      const [folder, to] = [newFolder(), newFolder()];
      await store.identity();
      const sha256 = await store.put(folder, bytesOf("x"));
      expect(await store.link(folder, sha256, to)).toBeTrue();
      const writer = await store.writer(folder);
      await writer.write(bytesOf("y"));
      await writer.finish();
      await store.removeOwner(folder);
      const written = asked.filter(([method]) => method === "PUT");
      expect(written.length).toBeGreaterThanOrEqual(3);
      const { serverSideEncryption, kmsKeyId } = encryption;
      const signed = kmsKeyId === null ? `host;${name}` : `host;${name};${keyName}`;
      for (const entry of written) expect(entry).toEqual(["PUT", signed, serverSideEncryption, kmsKeyId]);
      for (const [method, , ...values] of asked.splice(0))
        if (method !== "PUT") expect(values).toEqual([null, null]);
    }
    await recorder.stop(true);
  }, 60_000);

  test("goes by the server's clock", async () => {
    const drift = Math.abs((await storeAt(server.endpoint).now()) - Date.now());
    expect(drift).toBeLessThan(5_000);
  });

  test("lists only its own folders", async () => {
    const store = storeAt(server.endpoint);
    const folder = newFolder();
    await store.put(folder, bytesOf("x"));
    const others = [`q/${filePath(folder, sha256Of(bytesOf("x")))}`, "p/notes.txt", "p/a/b/c/d"];
    for (const key of others) {
      await mkdir(join(server.pathOf(key), ".."), { recursive: true });
      await writeFile(server.pathOf(key), "x");
    }
    expect(await Array.fromAsync(store.folders())).toMatchObject([folder]);
  });
});
