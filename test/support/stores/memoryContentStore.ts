import {
  filePath,
  folderPath,
  isTemporaryName,
  ownerPath,
  temporaryName,
} from "../../../src/kernel/contentPath.ts";
import { sha256Of } from "../../../src/kernel/crypto/sha256.ts";
import {
  type ContentFolder,
  type ContentStore,
  type ContentWriter,
  DamagedContentError,
} from "../../../src/ports/contentStore.ts";

interface StoredFile {
  readonly bytes: Uint8Array;
  readonly modifiedAt: number;
}

/** A content store in memory, for tests of other parts. `files` holds the content by path. */
export function memoryContentStore(files: Map<string, StoredFile> = new Map()): ContentStore {
  const identity = crypto.randomUUID();
  let log: string | null = null;
  const save = (path: string, bytes: Uint8Array) => {
    files.set(path, { bytes: bytes.slice(), modifiedAt: Date.now() });
  };
  const removeBelow = (path: string, only: (name: string) => boolean = () => true) => {
    for (const key of [...files.keys()]) {
      const isBelow = key === path || key.startsWith(`${path}/`);
      if (isBelow && only(key.slice(key.lastIndexOf("/") + 1))) files.delete(key);
    }
  };
  const put = async (folder: ContentFolder, bytes: Uint8Array) => {
    const sha256 = sha256Of(bytes);
    save(filePath(folder, sha256), bytes);
    return sha256;
  };
  return {
    create: async () => identity,
    identity: async () => identity,
    claimedBy: async () => log,
    async claim(logId) {
      log ??= logId;
      return log;
    },
    now: async () => Date.now(),
    put,
    async writer(folder): Promise<ContentWriter> {
      const temporary = `${folderPath(folder)}/${temporaryName()}`;
      const chunks: Uint8Array[] = [];
      return {
        async write(chunk) {
          chunks.push(chunk.slice());
          save(temporary, Buffer.concat(chunks));
        },
        async finish() {
          files.delete(temporary);
          const bytes = Buffer.concat(chunks);
          return { sha256: await put(folder, bytes), bytes: bytes.byteLength };
        },
        async abort() {
          files.delete(temporary);
        },
      };
    },
    async get(folder, sha256) {
      const bytes = files.get(filePath(folder, sha256))?.bytes ?? null;
      if (bytes !== null && sha256Of(bytes) !== sha256) throw new DamagedContentError(sha256);
      return bytes;
    },
    async link(from, sha256, to) {
      const [source, target] = [filePath(from, sha256), filePath(to, sha256)];
      const found = files.get(source);
      if (found) save(target, found.bytes);
      return found !== undefined;
    },
    removeOwner: async (owner) => removeBelow(ownerPath(owner)),
    removeFolder: async (folder) => removeBelow(folderPath(folder)),
    removeFile: async (folder, sha256) => removeBelow(filePath(folder, sha256)),
    removeTemporary: async (folder) => removeBelow(folderPath(folder), isTemporaryName),
    async *folders() {
      for (const path of new Set([...files.keys()].map((key) => key.slice(0, key.lastIndexOf("/"))))) {
        const [workspaceId = "", ownerId = "", folderId = ""] = path.split("/");
        const folderFiles = [...files].filter(([key]) => key.startsWith(`${path}/`));
        const modifiedAt = Math.max(...folderFiles.map(([, file]) => file.modifiedAt));
        const hasTemporary = folderFiles.some(([key]) => isTemporaryName(key.slice(path.length + 1)));
        yield { workspaceId, ownerId, folderId, modifiedAt, hasTemporary };
      }
    },
  };
}
