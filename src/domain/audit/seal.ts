import { isSignedBy, type SigningKey, signText } from "../../kernel/crypto/auditSigningKey.ts";
import { canonicalJson, type JsonObject } from "../../kernel/text/json.ts";
import { type EpochMs, rfc3339 } from "../../kernel/time.ts";
import type { Seal } from "./events.ts";

/** An event as a seal names it. */
export interface SealedEvent {
  readonly stream: string;
  readonly revision: number;
  /** 64 hex digits. */
  readonly leaf: string;
}

/** Identifies the event in its log. */
export function nameOfSealed({ stream, revision }: Pick<SealedEvent, "stream" | "revision">): string {
  return `${stream}@${revision}`;
}

/** Where the chain of seals ends. */
export interface ChainEnd {
  /** The revision of the last seal; null if there is none. */
  readonly revision: number | null;
  /** The event hash of the last seal. Somebody who keeps it elsewhere can recognize a forged chain. */
  readonly leaf: string | null;
  readonly covered: number;
  readonly isSigned: boolean;
}

export const NO_SEAL: ChainEnd = { revision: null, leaf: null, covered: 0, isSigned: false };

/**
 * How many events one seal covers at most. Their hashes, names and order compress to some 40 bytes an event.
 * Uncompressed, with the longest names, they take 650 kB, and one append may be 1 MB.
 */
export const SEAL_EVENTS_MAX = 5_000;
const LEAF_BYTES = 32;

/** The seal that follows `end` and covers `sealed`, which is in the order of the log. */
export function sealOf(
  end: ChainEnd,
  sealed: readonly SealedEvent[],
  at: EpochMs,
  signingKey: SigningKey | null,
): Seal {
  const indices = new Map<string, number>();
  for (const { stream } of sealed) if (!indices.has(stream)) indices.set(stream, indices.size);
  const seal: Seal = {
    at: rfc3339(at),
    previous: end.leaf,
    covered: end.covered + sealed.length,
    streams: [...indices.keys()],
    order: sealed.map(({ stream }) => indices.get(stream) ?? 0),
    revisions: sealed.map(({ revision }) => revision),
    leaves: Buffer.from(sealed.map(({ leaf }) => leaf).join(""), "hex").toString("base64"),
  };
  if (signingKey === null) return seal;
  const signed = { ...seal, publicKey: signingKey.publicKey };
  return { ...signed, signature: signText(signingKey, signedText(signed)) };
}

/** The events that a seal names, in the order of the log; null if its parts do not agree. */
export function sealedEventsOf({ streams, order, revisions, leaves }: Seal): readonly SealedEvent[] | null {
  const bytes = Buffer.from(leaves, "base64");
  const isSound =
    order.length > 0 &&
    order.length === revisions.length &&
    bytes.length === order.length * LEAF_BYTES &&
    order.every((index) => index < streams.length);
  if (!isSound) return null;
  return order.map((index, at) => ({
    stream: streams[index] ?? "",
    revision: revisions[at] ?? 0,
    leaf: bytes.toString("hex", at * LEAF_BYTES, (at + 1) * LEAF_BYTES),
  }));
}

/** The key that signed a seal: `null` if it is unsigned, `"wrong"` if the signature does not match its own key. */
export function signerOf(seal: Seal): string | "wrong" | null {
  const { publicKey, signature } = seal;
  if (publicKey === undefined && signature === undefined) return null;
  if (publicKey === undefined || signature === undefined) return "wrong";
  return isSignedBy(publicKey, signedText(seal), signature) ? publicKey : "wrong";
}

function signedText(seal: Seal): string {
  const { signature: _signature, ...signed } = seal;
  return canonicalJson(signed as JsonObject);
}
