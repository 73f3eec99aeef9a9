import { isUuid } from "../ids.ts";
import { canonicalJson, isObject, type Json, type JsonObject } from "../text/json.ts";
import { plainData, UnreadableEventError } from "./eventCodec.ts";

/** The parts of an event that its hash covers. Its position is not among them: an import changes it. */
export interface HashedEvent {
  readonly stream: string;
  /** From 0, without gaps within a stream. */
  readonly revision: number;
  readonly type: string;
  readonly id: string;
  readonly data: object | Uint8Array;
  readonly metadata: JsonObject;
}

/** The hash of an event that is no longer in the log, as recorded by a later event of its stream. */
export interface ErasedEventHash {
  readonly revision: number;
  readonly leaf: string;
}

const CONTENT_EVENT = "EmailContentStored";
const CONTENT_REVISION = 0;
const HASH = /^[0-9a-f]{64}$/;

function sha256(data: string | Uint8Array): string {
  return Bun.SHA256.hash(data, "hex") as string;
}

/**
 * The salted digest of the data of EmailContentStored, SHA-256 in lower-case hex: of its content, or of the reference
 * to it, whose own digest covers the bytes in the content store. `json` is the JSON of that one member with its keys
 * in the original order, which every store keeps. `salt` is a uuid, so its fixed length keeps the two members apart.
 */
export function contentDigest(salt: string, member: "content" | "reference", json: string): string {
  const hash = new Bun.CryptoHasher("sha256").update(member === "content" ? salt : salt + member);
  // Hashed separately, because joining would copy a long text once more.
  return hash.update(json).digest("hex");
}

/**
 * The hash of an event: SHA-256 in lower-case hex over its stream, revision, type, id and the digest of its payload,
 * which is its data as uncompressed JSON and its metadata. It is the same on every store, and after export and import.
 * For EmailContentStored a salted digest replaces the data, so the hash can still be computed when the content is
 * erased ({@link contentEventHash}). Throws {@link UnreadableEventError} if the event is nested too deep.
 */
export function eventHash(event: HashedEvent): string {
  return hashOf(event, () => [...dataOf(event), event.metadata]);
}

/** The hashes of earlier events of the stream that this event has erased. */
export function erasedEventHashes(event: HashedEvent): readonly ErasedEventHash[] {
  const data = jsonOf(event);
  if (!isObject(data) || !Array.isArray(data.erased)) return [];
  return data.erased.filter(isErasedEventHash).filter(({ revision }) => revision < event.revision);
}

/**
 * The hash of a message's content event (revision 0), computed from its acceptance event. That is revision 1 of the
 * same append, with the same metadata except for the version. Null for any other event. Throws like {@link eventHash}.
 */
export function contentEventHash(event: HashedEvent): string | null {
  const data = event.revision === CONTENT_REVISION + 1 ? jsonOf(event) : undefined;
  if (!isObject(data)) return null;
  const { contentEventId: id, contentDigest: digest, contentSchema: schema = 1 } = data;
  if (typeof id !== "string" || typeof digest !== "string") return null;
  const envelope = { stream: event.stream, revision: CONTENT_REVISION, type: CONTENT_EVENT, id };
  return hashOf(envelope, () => ["content", digest, { ...event.metadata, schema }]);
}

function hashOf(envelope: Omit<HashedEvent, "data" | "metadata">, payload: () => readonly Json[]): string {
  const { stream, revision, type, id } = envelope;
  try {
    return sha256(JSON.stringify([stream, revision, type, id, sha256(canonicalJson(payload()))]));
  } catch (error) {
    // Nested deeper than the stack permits; we never write such events.
    if (!(error instanceof RangeError)) throw error;
    throw new UnreadableEventError(envelope, "it is nested too deep");
  }
}

/** What represents an event's data in its payload, preceded by its kind. */
function dataOf(event: HashedEvent): readonly Json[] {
  const data = jsonOf(event);
  if (data === undefined) return ["bytes", sha256(event.data as Uint8Array)];
  const digest = event.type === CONTENT_EVENT ? digestOfContent(data) : null;
  return digest === null ? ["json", data] : ["content", digest];
}

/** The data as JSON; undefined if it is neither JSON nor compressed JSON. */
function jsonOf(event: HashedEvent): Json | undefined {
  try {
    return plainData(event) as Json;
  } catch {
    return undefined;
  }
}

/** Null for anything but a salt and one object; then all data is hashed, so nothing can hide in it. */
function digestOfContent(data: Json): string | null {
  if (!isObject(data)) return null;
  const { salt, ...rest } = data;
  const [[member, value] = [], ...others] = Object.entries(rest);
  if (typeof salt !== "string" || !isUuid(salt) || others.length > 0 || !isObject(value)) return null;
  if (member !== "content" && member !== "reference") return null;
  // JSON has no infinity: it would be written as null, so different content would get the same digest.
  if (holdsInfinity(value)) return null;
  return contentDigest(salt, member, JSON.stringify(value));
}

function holdsInfinity(value: Json): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some(holdsInfinity);
}

function isErasedEventHash(value: Json): value is Json & ErasedEventHash {
  if (!isObject(value)) return false;
  const { revision, leaf } = value;
  return (
    Number.isSafeInteger(revision) && Number(revision) >= 0 && typeof leaf === "string" && HASH.test(leaf)
  );
}
