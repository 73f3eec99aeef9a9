import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ContentOwner, ContentStore } from "../../ports/contentStore.ts";
import { StoreError } from "../../ports/eventStore.ts";
import { isMissing, readOrCreate, syncFolder, writeDurably } from "./durableFile.ts";

const IDENTITY_FILE = "identity";
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function sha256Of(bytes: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
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
      await syncFolder(join(root, workspaceId));
      await syncFolder(root);
    }
    return folder;
  };

  return {
    async identity() {
      try {
        await mkdir(root, { recursive: true, mode: 0o700 });
        return await readOrCreate(join(root, IDENTITY_FILE), () => crypto.randomUUID());
      } catch (error) {
        throw unavailable(error);
      }
    },
    async put(owner, bytes) {
      const sha256 = sha256Of(bytes);
      try {
        await writeDurably(join(await makeFolder(owner), sha256), bytes);
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
