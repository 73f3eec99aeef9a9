import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { filePath } from "../../src/kernel/contentPath.ts";
import { sha256Of } from "../../src/kernel/crypto/sha256.ts";
import {
  type ContentFolder,
  type ContentStore,
  ContentStoreError,
  DamagedContentError,
  type FoundFolder,
} from "../../src/ports/contentStore.ts";
import { StoreError } from "../../src/ports/eventStore.ts";

/** What the suite needs from an adapter besides the port. */
export interface ContentStoreHarness {
  readonly name: string;
  /** Opens the store again, as another process would. */
  open(): Promise<ContentStore>;
  /** Opens a separate store that was never used. */
  openNew(): Promise<ContentStore>;
  /** Paths of all files that the store keeps, finished or not, without its own marks. */
  files(): Promise<readonly string[]>;
  /** Bytes that have arrived at the store, those of unfinished files included. Null if writers keep them in memory. */
  readonly bytes: (() => Promise<number>) | null;
  /** Replaces the bytes of a file. */
  damage(path: string, bytes: Uint8Array): Promise<void>;
  /**
   * Takes the store out of its place; the returned function puts it back. `empty`: an empty place is left, as where a
   * disk is not mounted. Null if it has no place.
   */
  readonly takeAway: ((left: "nothing" | "empty") => Promise<() => Promise<void>>) | null;
  /** The resolution of `modifiedAt`, in ms. */
  readonly clockStepMs: number;
  close(): Promise<void>;
}

const CHUNK = 64 * 1_024;
const LARGE_FILE_CHUNKS = 160;
/** What a writer may hold back. */
const HELD_BYTES_MAX = 1_024 * 1_024;
const MANY_FILES = 1_100;
const MANY_FOLDERS = 60;
const NONE = "0".repeat(64);

const bytesOf = (text: string) => new TextEncoder().encode(text);
const newUuid = () => crypto.randomUUID();

function newFolder(parts: Partial<ContentFolder> = {}): ContentFolder {
  return { workspaceId: newUuid(), ownerId: newUuid(), folderId: newUuid(), ...parts };
}

function chunk(index: number): Uint8Array {
  return new Uint8Array(CHUNK).fill(index % 251);
}

async function foldersOf(store: ContentStore, workspaceId: string): Promise<readonly FoundFolder[]> {
  const found: FoundFolder[] = [];
  for await (const folder of store.folders()) if (folder.workspaceId === workspaceId) found.push(folder);
  return found;
}

export function contentStoreContract(make: () => Promise<ContentStoreHarness>): void {
  let harness: ContentStoreHarness;
  let store: ContentStore;
  beforeAll(async () => {
    harness = await make();
    store = await harness.open();
    await store.create();
  });
  afterAll(() => harness.close());

  const filesOf = async (folder: Partial<ContentFolder>) => {
    const [id] = [folder.folderId ?? folder.ownerId ?? folder.workspaceId];
    return (await harness.files()).filter((path) => path.includes(String(id)));
  };

  describe("identity", () => {
    test("is the same for every caller", async () => {
      const first = await store.create();
      expect(first).toMatch(/^[0-9a-f-]{36}$/);
      expect(await store.identity()).toBe(first);
      expect(await (await harness.open()).identity()).toBe(first);
      expect(await (await harness.open()).create()).toBe(first);
    });

    test("is the same for all who start at once", async () => {
      const fresh = await harness.openNew();
      const ids = await Promise.all([fresh.create(), fresh.create(), fresh.create()]);
      expect(new Set(ids).size).toBe(1);
      expect(await fresh.identity()).toBe(ids[0] ?? "");
      expect(ids[0]).not.toBe(await store.create());
    }, 90_000);
  });

  describe("a store that is not in its place", () => {
    const isAway = (error: unknown) => error instanceof ContentStoreError;
    const outcomeOf = (work: Promise<unknown>) => work.catch((error: unknown) => error);

    test("has failed: nothing is missing from it, and nothing is stored or removed in another place", async () => {
      if (harness.takeAway === null) return;
      const [folder, id] = [newFolder(), await store.create()];
      const sha256 = await store.put(folder, bytesOf("kept"));
      const bringBack = await harness.takeAway("nothing");
      const calls = [
        () => store.get(folder, sha256),
        () => store.link(folder, sha256, newFolder()),
        () => store.put(folder, bytesOf("new")),
        () => store.claim(newUuid()),
        () => store.removeFile(folder, sha256),
        async () => (await store.writer(folder)).finish(),
      ];
      for (const call of calls) expect(await outcomeOf(call())).toSatisfy(isAway);
      await bringBack();
      expect(await store.identity()).toBe(id);
      expect(await store.get(folder, sha256)).toEqual(bytesOf("kept"));
      expect(await filesOf(folder)).toEqual([filePath(folder, sha256)]);
    });

    test("has failed where its place is empty, or is another store's", async () => {
      if (harness.takeAway === null) return;
      const folder = newFolder();
      const sha256 = await store.put(folder, bytesOf("kept"));
      const bringBack = await harness.takeAway("empty");
      const look = async () => {
        expect(await outcomeOf(store.get(folder, sha256))).toSatisfy(isAway);
        expect(await outcomeOf(store.link(folder, sha256, newFolder()))).toSatisfy(isAway);
      };
      expect(await store.identity()).toBeNull();
      await look();
      await (await harness.open()).create();
      expect(await outcomeOf(store.identity())).toSatisfy(isAway);
      await look();
      await bringBack();
      expect(await store.get(folder, sha256)).toEqual(bytesOf("kept"));
    });
  });

  describe("the log that it belongs to", () => {
    test("is null at first, then the first one named, for good", async () => {
      const fresh = await harness.openNew();
      await fresh.create();
      expect(await fresh.claimedBy()).toBeNull();
      const [log, other] = [newUuid(), newUuid()];
      expect(await fresh.claim(log)).toBe(log);
      expect(await fresh.claim(other)).toBe(log);
      expect(await fresh.claimedBy()).toBe(log);
    }, 90_000);

    test("is the same for all concurrent claims", async () => {
      const fresh = await harness.openNew();
      await fresh.create();
      const answers = await Promise.all([fresh.claim(newUuid()), fresh.claim(newUuid())]);
      expect(new Set(answers).size).toBe(1);
    }, 90_000);
  });

  describe("put and get", () => {
    test("return the bytes under their digest", async () => {
      const folder = newFolder();
      const sha256 = await store.put(folder, bytesOf("hello"));
      expect(sha256).toBe(sha256Of(bytesOf("hello")));
      expect(await store.get(folder, sha256)).toEqual(bytesOf("hello"));
      expect(await (await harness.open()).get(folder, sha256)).toEqual(bytesOf("hello"));
      expect(await filesOf(folder)).toEqual([filePath(folder, sha256)]);
    });

    test("take every byte value, no bytes, and five megabytes", async () => {
      const folder = newFolder();
      const all = [Uint8Array.from({ length: 256 }, (_, byte) => byte), new Uint8Array(0)];
      all.push(crypto.getRandomValues(new Uint8Array(65_536)), new Uint8Array(5_000_000).fill(7));
      for (const bytes of all) {
        const stored = await store.get(folder, await store.put(folder, bytes));
        expect(Buffer.compare(stored ?? bytesOf("none"), bytes)).toBe(0);
      }
    });

    test("are idempotent", async () => {
      const folder = newFolder();
      const [first, second] = [await store.put(folder, bytesOf("a")), await store.put(folder, bytesOf("a"))];
      expect(second).toBe(first);
      expect(await filesOf(folder)).toHaveLength(1);
    });

    test("what was never put is null, and so are bytes of another folder, owner or workspace", async () => {
      const folder = newFolder();
      const sha256 = await store.put(folder, bytesOf("mine"));
      for (const key of ["workspaceId", "ownerId", "folderId"]) {
        expect(await store.get({ ...folder, [key]: newUuid() }, sha256)).toBeNull();
      }
      expect(await store.get(folder, NONE)).toBeNull();
    });

    test("damaged bytes are a failure, never an answer", async () => {
      const folder = newFolder();
      const sha256 = await store.put(folder, bytesOf("sound"));
      for (const damaged of ["soun", "soumd", ""]) {
        await harness.damage(filePath(folder, sha256), bytesOf(damaged));
        const failure = await store.get(folder, sha256).catch((error: unknown) => error);
        expect(failure).toBeInstanceOf(DamagedContentError);
        expect((failure as StoreError).failure).toBe("unavailable");
      }
    });

    test("many at once, into one folder and into many", async () => {
      const one = newFolder();
      const work = Array.from({ length: 60 }, async (_, index) => {
        const folder = index % 2 === 0 ? one : newFolder({ workspaceId: one.workspaceId });
        const bytes = bytesOf(`file ${index}`);
        expect(await store.get(folder, await store.put(folder, bytes))).toEqual(bytes);
      });
      await Promise.all(work);
      expect(await filesOf(one)).toHaveLength(30);
    });
  });

  describe("a writer", () => {
    test("makes one file of many chunks, and returns its digest and length", async () => {
      const folder = newFolder();
      const writer = await store.writer(folder);
      // One reused buffer, as an upload parser may have.
      const memory = new Uint8Array(3);
      for (const text of ["abc", "def", "ghi"]) {
        memory.set(bytesOf(text));
        await writer.write(memory);
      }
      const finished = await writer.finish();
      expect(finished).toEqual({ sha256: sha256Of(bytesOf("abcdefghi")), bytes: 9 });
      expect(await store.get(folder, finished.sha256)).toEqual(bytesOf("abcdefghi"));
      expect(await filesOf(folder)).toEqual([filePath(folder, finished.sha256)]);
    });

    test("of nothing makes an empty file", async () => {
      const folder = newFolder();
      const finished = await (await store.writer(folder)).finish();
      expect(finished).toEqual({ sha256: sha256Of(new Uint8Array(0)), bytes: 0 });
      expect(await store.get(folder, finished.sha256)).toEqual(new Uint8Array(0));
    });

    test("shows no named file before it has finished", async () => {
      const folder = newFolder();
      const writer = await store.writer(folder);
      await writer.write(bytesOf("half"));
      expect(await store.get(folder, sha256Of(bytesOf("half")))).toBeNull();
      expect((await store.get(folder, (await writer.finish()).sha256)) !== null).toBeTrue();
    });

    test("takes many megabytes, and holds few of them at a time unless it holds them all", async () => {
      const folder = newFolder();
      const before = (await harness.bytes?.()) ?? 0;
      const writer = await store.writer(folder);
      const hasher = new Bun.CryptoHasher("sha256");
      for (let index = 0; index < LARGE_FILE_CHUNKS; index += 1) {
        hasher.update(chunk(index));
        await writer.write(chunk(index));
      }
      if (harness.bytes !== null)
        expect((await harness.bytes()) - before).toBeGreaterThan(LARGE_FILE_CHUNKS * CHUNK - HELD_BYTES_MAX);
      const finished = await writer.finish();
      expect(finished).toEqual({ sha256: hasher.digest("hex"), bytes: LARGE_FILE_CHUNKS * CHUNK });
      expect(sha256Of((await store.get(folder, finished.sha256)) ?? bytesOf("none"))).toBe(finished.sha256);
      expect(await filesOf(folder)).toEqual([filePath(folder, finished.sha256)]);
    }, 60_000);

    test("that is aborted leaves nothing, however much it wrote", async () => {
      for (const chunks of [0, 1, 200]) {
        const folder = newFolder();
        const writer = await store.writer(folder);
        for (let index = 0; index < chunks; index += 1) await writer.write(chunk(index));
        await writer.abort();
        expect(await filesOf(folder)).toEqual([]);
      }
    }, 90_000);

    test("works beside others, even in the same folder", async () => {
      const folder = newFolder();
      const finished = await Promise.all(
        Array.from({ length: 8 }, async (_, writerIndex) => {
          const writer = await store.writer(folder);
          for (let index = 0; index < 10; index += 1) await writer.write(bytesOf(`${writerIndex}-${index} `));
          return writer.finish();
        }),
      );
      expect(new Set(finished.map(({ sha256 }) => sha256)).size).toBe(8);
      for (const { sha256 } of finished) expect(await store.get(folder, sha256)).not.toBeNull();
    });
  });

  describe("a link", () => {
    const linked = async () => {
      const [from, to] = [newFolder(), newFolder()];
      const sha256 = await store.put(from, bytesOf("shared"));
      expect(await store.link(from, sha256, to)).toBeTrue();
      return { from, to, sha256 };
    };

    test("keeps the bytes when its source is removed, and the other way round", async () => {
      type LinkedFile = Awaited<ReturnType<typeof linked>>;
      const removals: readonly ((folder: ContentFolder, linkedFile: LinkedFile) => Promise<void>)[] = [
        (folder) => store.removeOwner(folder),
        (folder) => store.removeFolder(folder),
        (folder, { sha256 }) => store.removeFile(folder, sha256),
      ];
      for (const remove of removals) {
        for (const first of ["from", "to"] as const) {
          const linkedFile = await linked();
          const other = first === "from" ? linkedFile.to : linkedFile.from;
          await remove(linkedFile[first], linkedFile);
          expect(await store.get(linkedFile[first], linkedFile.sha256)).toBeNull();
          expect(await store.get(other, linkedFile.sha256)).toEqual(bytesOf("shared"));
        }
      }
    });

    test("to a missing file reports that and leaves nothing", async () => {
      const [from, to] = [newFolder(), newFolder()];
      expect(await store.link(from, NONE, to)).toBeFalse();
      await store.put(from, bytesOf("something else"));
      expect(await store.link(from, NONE, to)).toBeFalse();
      expect(await filesOf(to)).toEqual([]);
    });

    test("is idempotent", async () => {
      const { from, to, sha256 } = await linked();
      expect(await store.link(from, sha256, to)).toBeTrue();
      expect(await filesOf(to)).toHaveLength(1);
    });

    test("can lead from folder to folder of one owner", async () => {
      const from = newFolder();
      const to = { ...from, folderId: newUuid() };
      const sha256 = await store.put(from, bytesOf("x"));
      expect(await store.link(from, sha256, to)).toBeTrue();
      await store.removeFolder(from);
      expect(await store.get(to, sha256)).toEqual(bytesOf("x"));
    });

    test("that races the removal of its source gets all bytes or is refused", async () => {
      for (let round = 0; round < 20; round += 1) {
        const [from, to] = [newFolder(), newFolder()];
        const sha256 = await store.put(from, bytesOf(`round ${round}`));
        const [isLinked] = await Promise.all([store.link(from, sha256, to), store.removeOwner(from)]);
        expect((await store.get(to, sha256)) !== null).toBe(isLinked);
      }
    });
  });

  describe("removal", () => {
    test("of an owner removes all of its folders and no others", async () => {
      const owner = newFolder();
      const second = { ...owner, folderId: newUuid() };
      const neighbour = { ...owner, ownerId: newUuid() };
      for (const folder of [owner, second, neighbour]) await store.put(folder, bytesOf("x"));
      await store.removeOwner(owner);
      expect(await filesOf({ ownerId: owner.ownerId })).toEqual([]);
      expect(await store.get(neighbour, sha256Of(bytesOf("x")))).not.toBeNull();
    });

    test("of a folder leaves the owner's other folders", async () => {
      const owner = newFolder();
      const second = { ...owner, folderId: newUuid() };
      for (const folder of [owner, second]) await store.put(folder, bytesOf("x"));
      await store.removeFolder(owner);
      expect(await store.get(owner, sha256Of(bytesOf("x")))).toBeNull();
      expect(await store.get(second, sha256Of(bytesOf("x")))).not.toBeNull();
    });

    test("of a file leaves the folder's other files", async () => {
      const folder = newFolder();
      const [a, b] = [await store.put(folder, bytesOf("a")), await store.put(folder, bytesOf("b"))];
      await store.removeFile(folder, a);
      expect(await store.get(folder, a)).toBeNull();
      expect(await store.get(folder, b)).toEqual(bytesOf("b"));
    });

    test("can be repeated, and does nothing for what never existed", async () => {
      const folder = newFolder();
      await store.put(folder, bytesOf("x"));
      for (let nth = 0; nth < 2; nth += 1) {
        await store.removeFile(folder, NONE);
        await store.removeFile(folder, sha256Of(bytesOf("x")));
        await store.removeTemporary(folder);
        await store.removeFolder(folder);
        await store.removeOwner(folder);
      }
      expect(await foldersOf(store, folder.workspaceId)).toEqual([]);
    });

    test(`removes ${MANY_FILES} files of one folder`, async () => {
      const folder = newFolder();
      const names = Array.from({ length: MANY_FILES }, (_, index) => bytesOf(`many ${index}`));
      for (let at = 0; at < names.length; at += 50) {
        await Promise.all(names.slice(at, at + 50).map((bytes) => store.put(folder, bytes)));
      }
      const neighbour = { ...folder, folderId: newUuid() };
      await store.put(neighbour, bytesOf("x"));
      expect(await foldersOf(store, folder.workspaceId)).toHaveLength(2);
      await store.removeFolder(folder);
      expect(await filesOf(folder)).toEqual([]);
      expect(await filesOf(neighbour)).toHaveLength(1);
    }, 60_000);

    test("never spoils a write beside it", async () => {
      const owner = newFolder();
      const rounds = Array.from({ length: 40 }, async (_, index) => {
        const folder = { ...owner, folderId: newUuid() };
        const bytes = bytesOf(`round ${index}`);
        const sha256 = await store.put(folder, bytes);
        expect(await store.get(folder, sha256)).toEqual(bytes);
        await store.removeFolder(folder);
      });
      await Promise.all(rounds);
      expect(await filesOf({ ownerId: owner.ownerId })).toEqual([]);
    });
  });

  describe("the list of folders", () => {
    test("names each once, with the time of its newest file by the store's own clock", async () => {
      const workspaceId = newUuid();
      const before = await store.now();
      const newFolders = Array.from({ length: MANY_FOLDERS }, () => newFolder({ workspaceId }));
      await Promise.all(
        newFolders.flatMap((folder) => ["a", "b", "c"].map((text) => store.put(folder, bytesOf(text)))),
      );
      const found = await foldersOf(store, workspaceId);
      const idsOf = (folders: readonly ContentFolder[]) => folders.map(({ folderId }) => folderId).sort();
      expect(idsOf(found)).toEqual(idsOf(newFolders));
      const after = await store.now();
      for (const { modifiedAt, hasTemporary } of found) {
        expect(modifiedAt).toBeGreaterThanOrEqual(before - harness.clockStepMs);
        expect(modifiedAt).toBeLessThanOrEqual(after + harness.clockStepMs);
        expect(hasTemporary).toBeFalse();
      }
    });

    test("leaves out what was removed", async () => {
      const workspaceId = newUuid();
      const [gone, stored] = [newFolder({ workspaceId }), newFolder({ workspaceId })];
      for (const folder of [gone, stored]) await store.put(folder, bytesOf("x"));
      await store.removeFolder(gone);
      expect(await foldersOf(store, workspaceId)).toMatchObject([stored]);
    });

    test("continues while folders come and go", async () => {
      const workspaceId = newUuid();
      const otherFolder = newFolder({ workspaceId });
      await store.put(otherFolder, bytesOf("x"));
      let isDone = false;
      const churn = (async () => {
        while (!isDone) {
          const folder = newFolder({ workspaceId });
          await store.put(folder, bytesOf("x"));
          await store.removeOwner(folder);
        }
      })();
      try {
        for (let round = 0; round < 10; round += 1) {
          const ids = (await foldersOf(store, workspaceId)).map(({ folderId }) => folderId);
          expect(ids).toContain(otherFolder.folderId);
        }
      } finally {
        isDone = true;
        await churn;
      }
    });
  });

  describe("ids", () => {
    const hostile = ["..", "", "../../identity", "a/b", newUuid().toUpperCase(), `${newUuid()}/..`, "%2e%2e"];
    const expectRefused = async (calls: readonly (() => Promise<unknown>)[]) => {
      for (const call of calls) {
        const failure = await call().catch((error: unknown) => error);
        expect(failure).toBeInstanceOf(Error);
        expect(failure).not.toBeInstanceOf(StoreError);
      }
    };

    test("that are not UUIDs are a caller's mistake, and touch nothing", async () => {
      const before = (await harness.files()).toSorted();
      const hostileFolders = hostile.flatMap((id) => [
        newFolder({ workspaceId: id }),
        newFolder({ ownerId: id }),
        newFolder({ folderId: id }),
      ]);
      for (const folder of hostileFolders) {
        await expectRefused([
          () => store.put(folder, bytesOf("x")),
          () => store.get(folder, NONE),
          async () => (await store.writer(folder)).finish(),
          () => store.link(folder, NONE, newFolder()),
          () => store.link(newFolder(), NONE, folder),
          () => store.removeFolder(folder),
          () => store.removeFile(folder, NONE),
          () => store.removeTemporary(folder),
          ...(hostile.includes(folder.folderId) ? [] : [() => store.removeOwner(folder)]),
        ]);
      }
      expect((await harness.files()).toSorted()).toEqual(before);
    });

    test("that are not digests are one too", async () => {
      const folder = newFolder();
      for (const sha256 of ["", "..", "../x", NONE.slice(1), `${NONE}0`, "A".repeat(64)]) {
        await expectRefused([
          () => store.get(folder, sha256),
          () => store.removeFile(folder, sha256),
          () => store.link(folder, sha256, newFolder()),
        ]);
      }
    });
  });
}
