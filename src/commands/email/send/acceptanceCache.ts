import { ACCEPTED_AS, type AcceptedAs } from "../../../domain/email/events.ts";
import type { Acceptance } from "../../../domain/email/idempotency.ts";

/** A set-associative cache: an id belongs to one set, and a full set forgets its oldest entry. */
const SETS = 4_096;
const SET_ENTRIES = 8;
/** An entry has one cache line of 32-bit words: id, fingerprint, time, and how it was accepted (0: empty). */
const ENTRY_WORDS = 16;
const [FINGERPRINT, TIME, STATUS] = [4, 12, 14];
const WORD_BYTES = Uint32Array.BYTES_PER_ELEMENT;
const FINGERPRINT_BYTES = (TIME - FINGERPRINT) * WORD_BYTES;
/** An entry's status is the place in this list, from 1. */
const STATUSES: readonly AcceptedAs[] = Object.values(ACCEPTED_AS);

/**
 * The acceptances that this instance last made or found, by the ids of their messages: 32,768 entries in 2 MiB that the
 * garbage collector never looks into. As objects, entries outlive the request that made them, and each full collection
 * visits them all.
 */
export function acceptanceCache() {
  const bytes = Buffer.alloc(SETS * SET_ENTRIES * ENTRY_WORDS * WORD_BYTES);
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / WORD_BYTES);
  const times = new Float64Array(
    bytes.buffer,
    bytes.byteOffset,
    bytes.length / Float64Array.BYTES_PER_ELEMENT,
  );
  const oldest = new Uint8Array(SETS);
  /** The id that is looked for. */
  const wanted = new Uint32Array(FINGERPRINT);

  /** The set of an id, which it leaves in `wanted`. Ids are UUIDv5, so their first bits are evenly distributed. */
  const setOf = (id: string): number => {
    wanted[0] = Number.parseInt(id.slice(0, 8), 16);
    wanted[1] = Number.parseInt(id.slice(9, 13) + id.slice(14, 18), 16);
    wanted[2] = Number.parseInt(id.slice(19, 23) + id.slice(24, 28), 16);
    wanted[3] = Number.parseInt(id.slice(28, 36), 16);
    return (wanted[0] as number) % SETS;
  };
  /** Where the entry of `wanted` begins; null if its set has none. */
  const find = (set: number): number | null => {
    const first = set * SET_ENTRIES * ENTRY_WORDS;
    for (let at = first; at < first + SET_ENTRIES * ENTRY_WORDS; at += ENTRY_WORDS) {
      if (
        words[at] === wanted[0] &&
        words[at + 1] === wanted[1] &&
        words[at + 2] === wanted[2] &&
        words[at + 3] === wanted[3] &&
        words[at + STATUS] !== 0
      )
        return at;
    }
    return null;
  };
  /** Where the oldest entry of the set begins, which the next one replaces. */
  const evicted = (set: number): number => {
    const index = oldest[set] as number;
    oldest[set] = (index + 1) % SET_ENTRIES;
    return (set * SET_ENTRIES + index) * ENTRY_WORDS;
  };
  return {
    get(id: string): Acceptance | undefined {
      const at = find(setOf(id));
      if (at === null) return undefined;
      const acceptedAs = STATUSES[(words[at + STATUS] as number) - 1] as AcceptedAs;
      const fingerprint = bytes.toString("hex", (at + FINGERPRINT) * WORD_BYTES, (at + TIME) * WORD_BYTES);
      return { fingerprint, acceptedAs, acceptedAt: times[(at + TIME) / 2] as number };
    },
    set(id: string, { fingerprint, acceptedAs, acceptedAt }: Acceptance) {
      const set = setOf(id);
      const at = find(set) ?? evicted(set);
      words.set(wanted, at);
      const written = bytes.write(fingerprint, (at + FINGERPRINT) * WORD_BYTES, FINGERPRINT_BYTES, "hex");
      times[(at + TIME) / 2] = acceptedAt;
      // One of another form, which no version has written, is not cached.
      const isWhole = written === FINGERPRINT_BYTES && fingerprint.length === 2 * FINGERPRINT_BYTES;
      words[at + STATUS] = isWhole ? STATUSES.indexOf(acceptedAs) + 1 : 0;
    },
  };
}
