import { customAlphabet } from "nanoid";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ID_CHARACTERS = 12;
const SECRET_CHARACTERS = 32;
const CHECKSUM_CHARACTERS = 6;
export const API_KEY_ID = "[0-9A-Za-z]{12}";
const ID = new RegExp(`^${API_KEY_ID}$`);
const LIVE_PREFIX = "pl_";
const TEST_PREFIX = "pl_test_";
const PATTERN = /^pl_(?:test_)?([0-9A-Za-z]{12})[0-9A-Za-z]{32}([0-9A-Za-z]{6})$/;

const newId = customAlphabet(BASE62, ID_CHARACTERS);
const newSecret = customAlphabet(BASE62, SECRET_CHARACTERS);

/** CRC-32 of the text in six base62 digits: tells a mistyped or truncated key from a wrong one without a look-up. */
function checksum(text: string): string {
  let rest = Bun.hash.crc32(text);
  let digits = "";
  for (let index = 0; index < CHECKSUM_CHARACTERS; index += 1) {
    digits = BASE62[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** The id of the key that is issued for one request, by the request's uuid: the uuid's last digits in base62. */
export function apiKeyIdOf(uuid: string): string {
  let rest = BigInt(`0x${uuid.replaceAll("-", "")}`);
  let id = "";
  while (id.length < ID_CHARACTERS) {
    id += BASE62[Number(rest % 62n)];
    rest /= 62n;
  }
  return id;
}

/**
 * A fresh API key: `pl_` (`pl_test_` for a test key), its id (12), 190 random bits (32), and a checksum (6), all
 * base62. The prefix is for people; its event in the log decides what a key is.
 */
export function newApiKey(isTest = false, id = newId()): { readonly id: string; readonly key: string } {
  const body = `${isTest ? TEST_PREFIX : LIVE_PREFIX}${id}${newSecret()}`;
  return { id, key: body + checksum(body) };
}

export function isApiKeyId(text: string): boolean {
  return ID.test(text);
}

/** The id inside a key; null if the text is not a key at all. */
export function apiKeyId(key: string): string | null {
  const match = PATTERN.exec(key);
  if (!match) return null;
  return checksum(key.slice(0, -CHECKSUM_CHARACTERS)) === match[2] ? (match[1] as string) : null;
}
