import { isFolderName, isTemporaryName } from "../../kernel/contentPath.ts";
import type { FoundFolder } from "../../ports/contentStore.ts";
import type { S3Requests } from "./s3Requests.ts";

const PAGE_KEYS = 1_000;

interface S3Object {
  readonly key: string;
  /** Epoch ms by the server's clock; some servers give whole seconds. */
  readonly modifiedAt: number;
}

/**
 * Throws if a page does not continue after the previous one in key order, or lists keys that were not asked for: a
 * listing might never end, and a removal by list might hit somebody else's objects.
 */
function requireOwnAndNext(keys: readonly string[], prefix: string, startAfter: string | undefined): void {
  if (!keys.every((key) => key.startsWith(prefix)))
    throw new Error("the S3 server lists objects that were not asked for");
  const [last] = keys.slice(-1);
  if (last === undefined || startAfter === undefined) return;
  if (Buffer.compare(Buffer.from(last), Buffer.from(startAfter)) <= 0)
    throw new Error("the S3 server lists the same objects again");
}

/** Every object below `prefix` in key order, page by page. */
export async function* objectsBelow(
  { client, within }: S3Requests,
  prefix: string,
  pageDeadline: () => number,
): AsyncIterable<S3Object> {
  let startAfter: string | undefined;
  for (;;) {
    const options = { prefix, maxKeys: PAGE_KEYS, ...(startAfter === undefined ? {} : { startAfter }) };
    const { contents = [], isTruncated } = await within(pageDeadline(), client.list(options));
    requireOwnAndNext(
      contents.map(({ key }) => key),
      prefix,
      startAfter,
    );
    for (const { key, lastModified } of contents) {
      yield { key, modifiedAt: Date.parse(String(lastModified)) };
    }
    const last = contents.at(-1)?.key;
    if (!isTruncated || last === undefined) return;
    startAfter = last;
  }
}

/** The folders of the objects, which are sorted by folder. Skips objects elsewhere, which are not ours. */
export async function* foldersAmong(
  objects: AsyncIterable<S3Object>,
  prefix: string,
): AsyncIterable<FoundFolder> {
  let current: FoundFolder | undefined;
  for await (const { key, modifiedAt } of objects) {
    const [workspaceId = "", ownerId = "", folderId = "", name = "", ...more] = key
      .slice(prefix.length)
      .split("/");
    if (more.length > 0 || name === "" || ![workspaceId, ownerId, folderId].every(isFolderName)) continue;
    const hasTemporary = isTemporaryName(name);
    const isSame =
      current?.workspaceId === workspaceId && current.ownerId === ownerId && current.folderId === folderId;
    if (current !== undefined && isSame) {
      current = {
        ...current,
        modifiedAt: Math.max(current.modifiedAt, modifiedAt),
        hasTemporary: current.hasTemporary || hasTemporary,
      };
      continue;
    }
    if (current !== undefined) yield current;
    current = { workspaceId, ownerId, folderId, modifiedAt, hasTemporary };
  }
  if (current !== undefined) yield current;
}
