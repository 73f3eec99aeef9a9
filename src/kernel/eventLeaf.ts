import { plainData } from "./codec.ts";
import { isUuid } from "./ids.ts";
import { canonicalJson, type Json, type JsonObject } from "./json.ts";

/** What a leaf is made from: an event without its position, which is another one after an import. */
export interface LeafSource {
  readonly stream: string;
  readonly revision: number;
  readonly type: string;
  readonly id: string;
  readonly data: object | Uint8Array;
  readonly metadata: JsonObject;
}

/** The leaf of an event that the log does not hold any more, as a later event of its stream tells it. */
export interface CarriedLeaf {
  readonly revision: number;
  readonly leaf: string;
}

/** What `log import` writes where the log that it reads has lost an event: its own leaf counts for nothing. */
export const ERASED_PLACEHOLDER = "EventErased";

const CONTENT_EVENT = "EmailContentStored";
const CONTENT_REVISION = 0;
const LEAF = /^[0-9a-f]{64}$/;

function sha256(data: string | Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(data).digest("hex");
}

/**
 * The salted digest of what EmailContentStored holds, SHA-256 in lower-case hex: of its content, or of the reference
 * to it, whose own digest covers the bytes in the content store. `json` is the JSON of that one member in its own
 * order, which every store keeps. `salt` is a uuid: its length is known, so no two members make one text.
 */
export function contentDigest(salt: string, member: "content" | "reference", json: string): string {
  return sha256(member === "content" ? salt + json : salt + member + json);
}

/**
 * The leaf of an event: SHA-256 in lower-case hex over its stream, revision, type, id and the digest of its payload,
 * which is its data as JSON, however that is compressed, and its metadata. The same on every store, and after export
 * and import. For EmailContentStored a salted digest stands for the data: so the leaf can be had from what is left when
 * the content is gone ({@link carriedLeaves}).
 */
export function eventLeaf(event: LeafSource): string {
  return leafOf(event, [...dataOf(event), event.metadata]);
}

/**
 * The leaves of earlier events of its stream that this event stands for: those that it names in `erased`, and for the
 * acceptance of a message that of its content.
 */
export function carriedLeaves(event: LeafSource): readonly CarriedLeaf[] {
  const data = jsonOf(event);
  if (!isObject(data)) return [];
  const named = Array.isArray(data.erased) ? data.erased.filter(isCarriedLeaf) : [];
  const carried = named.filter(({ revision }) => revision < event.revision);
  const content = contentLeaf(event, data);
  return content === null ? carried : [{ revision: CONTENT_REVISION, leaf: content }, ...carried];
}

function leafOf(place: Omit<LeafSource, "data" | "metadata">, payload: readonly Json[]): string {
  const { stream, revision, type, id } = place;
  return sha256(canonicalJson([stream, revision, type, id, sha256(canonicalJson(payload))]));
}

/** What stands for an event's data in its payload, and what that is. */
function dataOf(event: LeafSource): readonly Json[] {
  const data = jsonOf(event);
  if (data === undefined) return ["bytes", sha256(event.data as Uint8Array)];
  const digest = event.type === CONTENT_EVENT ? digestOfContent(data) : null;
  return digest === null ? ["json", data] : ["content", digest];
}

/** Undefined when it is neither JSON nor compressed JSON. */
function jsonOf(event: LeafSource): Json | undefined {
  try {
    return plainData(event) as Json;
  } catch {
    return undefined;
  }
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Null for anything but a salt and one object: then all of it counts as it is, and nothing can be hidden in it. */
function digestOfContent(data: Json): string | null {
  if (!isObject(data)) return null;
  const { salt, ...rest } = data;
  const [[member, value] = [], ...others] = Object.entries(rest);
  if (typeof salt !== "string" || !isUuid(salt) || others.length > 0 || !isObject(value)) return null;
  if (member !== "content" && member !== "reference") return null;
  return contentDigest(salt, member, JSON.stringify(value));
}

/** The leaf of revision 0 from what revision 1 tells of it; its metadata is that of the whole append. */
function contentLeaf({ stream, revision, metadata }: LeafSource, data: JsonObject): string | null {
  const { contentEventId: id, contentDigest: digest } = data;
  if (revision !== CONTENT_REVISION + 1 || typeof id !== "string" || typeof digest !== "string") return null;
  const place = { stream, revision: CONTENT_REVISION, type: CONTENT_EVENT, id };
  return leafOf(place, ["content", digest, metadata]);
}

function isCarriedLeaf(value: Json): value is Json & CarriedLeaf {
  if (!isObject(value)) return false;
  const { revision, leaf } = value;
  return (
    Number.isSafeInteger(revision) && Number(revision) >= 0 && typeof leaf === "string" && LEAF.test(leaf)
  );
}
