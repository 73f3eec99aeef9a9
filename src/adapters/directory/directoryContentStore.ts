import { link, mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type {
  ContentFolder,
  ContentOwner,
  ContentStore,
  ContentWriter,
  FoundFolder,
} from "../../ports/contentStore.ts";
import { StoreError } from "../../ports/eventStore.ts";
import { isMissing, readOrCreate, syncFolder, writeDurably } from "./durableFile.ts";

const IDENTITY_FILE = "identity";
const FILE_MODE = 0o600;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function sha256Of(bytes: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
}

/** Content in a directory: `<root>/<workspace>/<owner>/<folder>/<sha256>`. */
export function directoryContentStore(root: string): ContentStore {
  const pathOf = (...ids: readonly string[]): string => {
    if (!ids.every((id) => UUID.test(id))) throw new Error("content folders are named by uuids");
    return join(root, ...ids);
  };
  const ownerPath = ({ workspaceId, ownerId }: ContentOwner) => pathOf(workspaceId, ownerId);
  const folderPath = ({ workspaceId, ownerId, folderId }: ContentFolder) =>
    pathOf(workspaceId, ownerId, folderId);

  /** Folders as they are missing, each made durable in the one above. */
  const makeFolder = async (folder: ContentFolder): Promise<string> => {
    const path = folderPath(folder);
    if ((await mkdir(path, { recursive: true, mode: 0o700 })) !== undefined) {
      for (const above of [ownerPath(folder), join(root, folder.workspaceId), root]) await syncFolder(above);
    }
    return path;
  };

  return {
    identity: () =>
      guarded(async () => {
        await mkdir(root, { recursive: true, mode: 0o700 });
        return readOrCreate(join(root, IDENTITY_FILE), () => crypto.randomUUID());
      }),
    put: (folder, bytes) =>
      guarded(async () => {
        const sha256 = sha256Of(bytes);
        await writeDurably(join(await makeFolder(folder), sha256), bytes);
        return sha256;
      }),
    writer: (folder) => guarded(async () => fileWriter(await makeFolder(folder))),
    get: (folder, sha256) =>
      guarded(async () => {
        const bytes = await readFile(join(folderPath(folder), sha256)).catch(nullIfMissing);
        if (bytes !== null && sha256Of(bytes) !== sha256) throw new Error(`content ${sha256} is damaged`);
        return bytes;
      }),
    link: (from, sha256, to) =>
      guarded(async () => {
        const source = join(folderPath(from), sha256);
        if ((await stat(source).catch(nullIfMissing)) === null) return false;
        const path = await makeFolder(to);
        const linked = await link(source, join(path, sha256)).then(
          () => true,
          (error: { code?: string }) => {
            if (error.code === "EEXIST") return true;
            if (isMissing(error)) return false;
            throw error;
          },
        );
        if (linked) await syncFolder(path);
        return linked;
      }),
    removeFile: (folder, sha256) => guarded(() => rm(join(folderPath(folder), sha256), { force: true })),
    removeOwner: (owner) => guarded(() => rm(ownerPath(owner), { recursive: true, force: true })),
    removeFolder: (folder) => guarded(() => rm(folderPath(folder), { recursive: true, force: true })),
    folders: () => foldersIn(root),
  };
}

/** Writes into a temporary file of the folder, which gets its name once its digest is known. */
async function fileWriter(folder: string): Promise<ContentWriter> {
  const temporary = join(folder, `.${crypto.randomUUID()}.tmp`);
  const file = await open(temporary, "wx", FILE_MODE);
  const hasher = new Bun.CryptoHasher("sha256");
  let bytes = 0;
  return {
    write: (chunk) =>
      guarded(async () => {
        hasher.update(chunk);
        bytes += chunk.byteLength;
        await file.writeFile(chunk);
      }),
    finish: () =>
      guarded(async () => {
        const sha256 = hasher.digest("hex");
        await file.sync();
        await file.close();
        await rename(temporary, join(folder, sha256));
        await syncFolder(folder);
        return { sha256, bytes };
      }),
    abort: () =>
      guarded(async () => {
        await file.close();
        await rm(temporary, { force: true });
      }),
  };
}

async function* foldersIn(root: string): AsyncIterable<FoundFolder> {
  for (const workspaceId of await uuidsIn(root)) {
    for (const ownerId of await uuidsIn(join(root, workspaceId))) {
      for (const folderId of await uuidsIn(join(root, workspaceId, ownerId))) {
        const found = await stat(join(root, workspaceId, ownerId, folderId)).catch(nullIfMissing);
        if (found) yield { workspaceId, ownerId, folderId, modifiedAt: found.mtimeMs };
      }
    }
  }
}

async function uuidsIn(path: string): Promise<readonly string[]> {
  const names = await guarded(() => readdir(path).catch(nullIfMissing));
  return (names ?? []).filter((name) => UUID.test(name));
}

function nullIfMissing(error: unknown): null {
  if (isMissing(error)) return null;
  throw error;
}

async function guarded<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw new StoreError("unavailable", "the content store cannot be used", { cause: error });
  }
}
