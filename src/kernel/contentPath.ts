import { invariant } from "./assert.ts";

/** The files of a content store by which it and the log know each other. */
export const IDENTITY_FILE = "identity";
export const LOG_FILE = "log";
export const CONTENT_STORE_FILES: readonly string[] = [IDENTITY_FILE, LOG_FILE];

/** Lower case only, because names in a store are case-sensitive and each thing must have one name. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SHA256 = /^[0-9a-f]{64}$/;

interface Owner {
  readonly workspaceId: string;
  readonly ownerId: string;
}

interface Folder extends Owner {
  readonly folderId: string;
}

export function isFolderName(name: string): boolean {
  return UUID.test(name);
}

function pathOf(...ids: readonly string[]): string {
  invariant(ids.every(isFolderName), "content folders are named by uuids");
  return ids.join("/");
}

/** `<workspace>/<owner>`. Throws on ids that are not uuids, because ids become paths. */
export function ownerPath({ workspaceId, ownerId }: Owner): string {
  return pathOf(workspaceId, ownerId);
}

/** `<workspace>/<owner>/<folder>`. Throws on ids that are not uuids. */
export function folderPath({ workspaceId, ownerId, folderId }: Folder): string {
  return pathOf(workspaceId, ownerId, folderId);
}

/** `<workspace>/<owner>/<folder>/<sha256>`. Throws if `sha256` is not a SHA-256 in lower-case hex. */
export function filePath(folder: Folder, sha256: string): string {
  invariant(SHA256.test(sha256), "content files are named by their SHA-256");
  return `${folderPath(folder)}/${sha256}`;
}

/** A name for bytes whose digest is not known yet. */
export function temporaryName(): string {
  return `.${crypto.randomUUID()}.tmp`;
}

export function isTemporaryName(name: string): boolean {
  return name.startsWith(".") && name.endsWith(".tmp") && UUID.test(name.slice(1, -".tmp".length));
}
