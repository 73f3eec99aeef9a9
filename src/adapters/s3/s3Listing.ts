import { isFolderName } from "../../kernel/contentPath.ts";
import { unescapeXml } from "../../kernel/text/unescapeXml.ts";
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

interface Page {
  readonly objects: readonly S3Object[];
  readonly isTruncated: boolean;
}

/** Reads a page of a list. Throws for anything else: an empty list would mean that nothing is left to remove. */
function pageOf(xml: string): Page {
  const whole = /<ListBucketResult[\s>].*<\/ListBucketResult>\s*$/s.exec(xml)?.[0];
  if (whole === undefined) throw new Error("the S3 server answered something else than a list");
  const objects = [...whole.matchAll(/<Contents>(.*?)<\/Contents>/gs)].map(([, object = ""]) => {
    const key = textIn(object, "Key");
    if (key === null) throw new Error("the S3 server lists an object without a key");
    return { key, modifiedAt: Date.parse(textIn(object, "LastModified") ?? "") };
  });
  return { objects, isTruncated: textIn(whole, "IsTruncated") === "true" };
}

/** The text of the first element with this name, which holds no other elements; null if there is none. */
function textIn(xml: string, name: string): string | null {
  const start = xml.indexOf(`<${name}>`);
  const end = xml.indexOf(`</${name}>`, start);
  if (start < 0 || end < 0) return null;
  return unescapeXml(xml.slice(start + name.length + 2, end));
}

/** Every object below `prefix` in key order, page by page. */
export async function* objectsBelow(
  { send }: S3Requests,
  prefix: string,
  pageDeadline: () => number,
): AsyncIterable<S3Object> {
  let startAfter: string | undefined;
  for (;;) {
    const after = startAfter === undefined ? {} : { "start-after": startAfter };
    const parameters = { "list-type": "2", prefix, "max-keys": String(PAGE_KEYS), ...after };
    const { bytes } = await send({ method: "GET", key: "", parameters }, pageDeadline());
    const { objects, isTruncated } = pageOf(new TextDecoder().decode(bytes));
    requireOwnAndNext(
      objects.map(({ key }) => key),
      prefix,
      startAfter,
    );
    yield* objects;
    const last = objects.at(-1)?.key;
    if (!isTruncated) return;
    if (last === undefined) throw new Error("the S3 server lists nothing, and says that there is more");
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
    const isSame =
      current?.workspaceId === workspaceId && current.ownerId === ownerId && current.folderId === folderId;
    if (current !== undefined && isSame) {
      current = {
        ...current,
        modifiedAt: Math.max(current.modifiedAt, modifiedAt),
      };
      continue;
    }
    if (current !== undefined) yield current;
    current = { workspaceId, ownerId, folderId, modifiedAt, hasTemporary: false };
  }
  if (current !== undefined) yield current;
}
