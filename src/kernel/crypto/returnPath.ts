import { uuidOfHex } from "../ids.ts";
import { DAY_MS, type EpochMs } from "../time.ts";
import { equalInConstantTime } from "./equalInConstantTime.ts";
import type { InstanceKeys } from "./instanceKeys.ts";

/** One attempt to deliver a message, as encoded in its envelope sender. */
export interface ReturnPath {
  readonly emailId: string;
  readonly attempt: number;
}

/**
 * Only letters and digits, because `+` and `-` separate parts of addresses, and only one case, because servers change
 * it. Relays add a prefix (`unwrapBatvAndSrs`), and a local part has at most 64 characters (RFC 5321 §4.5.3.1.1).
 */
const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";
const BITS = 5n;
const FORMAT = "a";
const ID_CHARACTERS = 26;
const ATTEMPT_CHARACTERS = 2;
const DAY_CHARACTERS = 3;
const TAG_CHARACTERS = 16;
/** The length of every such local part: 48. */
const RETURN_PATH_CHARACTERS =
  FORMAT.length + ID_CHARACTERS + ATTEMPT_CHARACTERS + DAY_CHARACTERS + TAG_CHARACTERS;
/** Later attempts are encoded as this one. */
const ATTEMPT_MAX = 2 ** (5 * ATTEMPT_CHARACTERS) - 1;
/** A hexadecimal digit has 4 bits. */
const TAG_DIGITS = (TAG_CHARACTERS * 5) / 4;
/** Servers give up after a week at most, but complaints come as late as people read their mail. */
export const RETURN_PATH_DAYS = 90;

type Tagger = Pick<InstanceKeys, "returnPathTag">;

/** A number in base 32 (RFC 4648's letters and digits, in lower case), most significant digit first. */
function base32(value: bigint, characters: number): string {
  let text = "";
  for (let rest = value; text.length < characters; rest >>= BITS) {
    text = (ALPHABET[Number(rest & 31n)] ?? "") + text;
  }
  return text;
}

function numberOf(text: string): bigint {
  return [...text].reduce((value, character) => (value << BITS) | BigInt(ALPHABET.indexOf(character)), 0n);
}

function tagOf(keys: Tagger, named: string): string {
  return base32(BigInt(`0x${keys.returnPathTag(named).slice(0, TAG_DIGITS)}`), TAG_CHARACTERS);
}

/** The local part of an attempt's envelope sender. Valid until {@link RETURN_PATH_DAYS} after `now`. */
export function returnPathLocalPart(keys: Tagger, { emailId, attempt }: ReturnPath, now: EpochMs): string {
  const day = Math.floor(now / DAY_MS) + RETURN_PATH_DAYS;
  const named = [
    FORMAT,
    base32(BigInt(`0x${emailId.replaceAll("-", "")}`), ID_CHARACTERS),
    base32(BigInt(Math.min(attempt, ATTEMPT_MAX)), ATTEMPT_CHARACTERS),
    base32(BigInt(day), DAY_CHARACTERS),
  ].join("");
  return named + tagOf(keys, named);
}

/** The attempt in a local part of upper or lower case; null if it is not ours, or has expired. */
export function readReturnPath(keys: Tagger, localPart: string, now: EpochMs): ReturnPath | null {
  const text = localPart.toLowerCase();
  if (text.length !== RETURN_PATH_CHARACTERS || !/^a[a-z2-7]+$/.test(text)) return null;
  const named = text.slice(0, -TAG_CHARACTERS);
  if (!equalInConstantTime(tagOf(keys, named), text.slice(-TAG_CHARACTERS))) return null;
  const id = named.slice(FORMAT.length, FORMAT.length + ID_CHARACTERS);
  const rest = named.slice(FORMAT.length + ID_CHARACTERS);
  if (Number(numberOf(rest.slice(ATTEMPT_CHARACTERS))) < Math.floor(now / DAY_MS)) return null;
  const emailId = uuidOfHex(numberOf(id).toString(16).padStart(32, "0"));
  return { emailId, attempt: Number(numberOf(rest.slice(0, ATTEMPT_CHARACTERS))) };
}
