import { link, mkdir, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ContentOwner, ContentStore } from "../../ports/contentStore.ts";
import { StoreError } from "../../ports/eventStore.ts";

const IDENTITY_FILE = "identity";
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function isMissing(error: unknown): boolean {
  return (error as { code?: string }).code === "ENOENT";
}

function sha256Of(bytes: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
}

/** Makes a file's or a folder's names durable (fsync). */
async function sync(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Writes a file so that it is there whole or not at all, and stays: temporary file, fsync, rename, fsync. */
async function writeDurably(folder: string, name: string, bytes: Uint8Array): Promise<void> {
  const temporary = join(folder, `.${crypto.randomUUID()}.tmp`);
  try {
    await writeFile(temporary, bytes, { mode: 0o600, flush: true });
    await rename(temporary, join(folder, name));
    await sync(folder);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Gives the directory its identity. Of racing first starts one wins, and all answer what it wrote. */
async function firstIdentity(root: string): Promise<string> {
  const temporary = join(root, `.${crypto.randomUUID()}.tmp`);
  const path = join(root, IDENTITY_FILE);
  await writeFile(temporary, `${crypto.randomUUID()}\n`, { mode: 0o600, flush: true });
  try {
    await link(temporary, path);
    await sync(root);
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw unavailable(error);
  } finally {
    await rm(temporary, { force: true });
  }
  return (await readFile(path, "utf8")).trim();
}

/** Content in a directory: `<root>/<workspace>/<owner>/<sha256>`. */
export function directoryContentStore(root: string): ContentStore {
  const folderOf = ({ workspaceId, ownerId }: ContentOwner): string => {
    if (!UUID.test(workspaceId) || !UUID.test(ownerId)) throw new Error("content owners are named by uuids");
    return join(root, workspaceId, ownerId);
  };

  /** Folders as they are missing, each made durable in the one above. */
  const makeFolder = async ({ workspaceId, ownerId }: ContentOwner): Promise<string> => {
    const folder = folderOf({ workspaceId, ownerId });
    if ((await mkdir(folder, { recursive: true, mode: 0o700 })) !== undefined) {
      await sync(join(root, workspaceId));
      await sync(root);
    }
    return folder;
  };

  return {
    async identity() {
      await mkdir(root, { recursive: true, mode: 0o700 });
      try {
        return (await readFile(join(root, IDENTITY_FILE), "utf8")).trim();
      } catch (error) {
        if (!isMissing(error)) throw unavailable(error);
        return await firstIdentity(root);
      }
    },
    async put(owner, bytes) {
      const sha256 = sha256Of(bytes);
      try {
        await writeDurably(await makeFolder(owner), sha256, bytes);
      } catch (error) {
        throw unavailable(error);
      }
      return sha256;
    },
    async get(owner, sha256) {
      try {
        const bytes = await readFile(join(folderOf(owner), sha256));
        if (sha256Of(bytes) !== sha256) throw new Error(`content ${sha256} is damaged`);
        return bytes;
      } catch (error) {
        if (isMissing(error)) return null;
        throw unavailable(error);
      }
    },
    async removeOwner(owner) {
      try {
        await rm(folderOf(owner), { recursive: true, force: true });
      } catch (error) {
        throw unavailable(error);
      }
    },
  };
}

function unavailable(error: unknown): StoreError {
  return new StoreError("unavailable", "the content store cannot be used", { cause: error });
}
