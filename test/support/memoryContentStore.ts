import type { ContentFolder, ContentStore, ContentWriter } from "../../src/ports/contentStore.ts";

const sha256Of = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
const pathOf = ({ workspaceId, ownerId, folderId }: ContentFolder) => `${workspaceId}/${ownerId}/${folderId}`;

/** Content in memory, for tests that are about something else. */
export function memoryContentStore(): ContentStore {
  const kept = new Map<string, Uint8Array>();
  const removeBelow = (prefix: string) => {
    for (const path of [...kept.keys()]) if (path.startsWith(`${prefix}/`)) kept.delete(path);
  };
  const put = async (folder: ContentFolder, bytes: Uint8Array) => {
    const sha256 = sha256Of(bytes);
    kept.set(`${pathOf(folder)}/${sha256}`, bytes);
    return sha256;
  };
  return {
    identity: async () => "content",
    put,
    async writer(folder): Promise<ContentWriter> {
      const chunks: Uint8Array[] = [];
      return {
        async write(chunk) {
          chunks.push(chunk);
        },
        async finish() {
          const bytes = Buffer.concat(chunks);
          return { sha256: await put(folder, bytes), bytes: bytes.byteLength };
        },
        async abort() {},
      };
    },
    get: async (folder, sha256) => kept.get(`${pathOf(folder)}/${sha256}`) ?? null,
    async link(from, sha256, to) {
      const bytes = kept.get(`${pathOf(from)}/${sha256}`);
      if (bytes) await put(to, bytes);
      return bytes !== undefined;
    },
    async removeFile(folder, sha256) {
      kept.delete(`${pathOf(folder)}/${sha256}`);
    },
    removeOwner: async ({ workspaceId, ownerId }) => removeBelow(`${workspaceId}/${ownerId}`),
    removeFolder: async (folder) => removeBelow(pathOf(folder)),
    async *folders() {
      for (const path of new Set([...kept.keys()].map((key) => key.split("/").slice(0, 3).join("/")))) {
        const [workspaceId = "", ownerId = "", folderId = ""] = path.split("/");
        yield { workspaceId, ownerId, folderId, modifiedAt: 0 };
      }
    },
  };
}
