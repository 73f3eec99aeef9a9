import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { isSqlite, readSqlitePages } from "./sqlitePages.ts";

/** Markers are this prefix and random letters. They contain letters only, so no format escapes them. */
const PREFIX = "qzx";
const LETTERS = 15;
/** A lookahead, because a marker may start inside a false match. */
const MARKER = new RegExp(`(?=(${PREFIX}[a-z]{${LETTERS}}))`, "gi");
const PREFIX_HEX = Buffer.from(PREFIX).toString("hex");
const HEX = new RegExp(`${PREFIX_HEX}[0-9a-f]{${2 * LETTERS}}`, "gi");

/** Unique words for data that can be erased. */
export class Markers {
  readonly all: string[] = [];

  word(): string {
    const letters = [...crypto.getRandomValues(new Uint8Array(LETTERS))].map((byte) => 97 + (byte % 26));
    const word = PREFIX + String.fromCharCode(...letters);
    this.all.push(word);
    return word;
  }
}

const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
const GZIP = Buffer.from([0x1f, 0x8b, 0x08]);
const BASE64_LINES = /(?:[A-Za-z0-9+/_-]{4,76}(?:\r?\n)?){2,}={0,2}/g;
/** Base64 may be preceded by characters that also look like Base64. */
const BASE64_OFFSETS = [0, 1, 2, 3];
/** How deep to decode nested content: an archive in a mail in a file, say. */
const DEPTH_MAX = 4;

/** Where the blocks of a zstd frame begin (RFC 8878 §3.1.1.1). */
function zstdHeaderEnd(descriptor: number, start: number): number {
  const isSingle = (descriptor & 0x20) !== 0;
  const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 3] ?? 0;
  return start + ZSTD.length + 1 + (isSingle ? 0 : 1) + dictionaryBytes + sizeBytes;
}

/** The length of a zstd frame; null if it is not one, or is truncated. */
function zstdFrameBytes(bytes: Buffer, start: number): number | null {
  const descriptor = bytes[start + ZSTD.length];
  if (descriptor === undefined) return null;
  let at = zstdHeaderEnd(descriptor, start);
  for (let isLast = false; !isLast; ) {
    if (at + 3 > bytes.length) return null;
    const header = bytes.readUIntLE(at, 3);
    const type = (header >> 1) & 3;
    if (type === 3) return null;
    isLast = (header & 1) === 1;
    at += 3 + (type === 1 ? 1 : header >> 3);
  }
  const end = at + (descriptor & 4 ? 4 : 0);
  return end > bytes.length ? null : end - start;
}

function* offsetsOf(bytes: Buffer, magic: Buffer): Iterable<number> {
  for (let at = bytes.indexOf(magic); at >= 0; at = bytes.indexOf(magic, at + 1)) yield at;
}

/** Everything that the bytes contain compressed or encoded, decoded. */
function* decodedForms(bytes: Buffer): Iterable<Buffer> {
  for (const at of offsetsOf(bytes, ZSTD)) {
    const length = zstdFrameBytes(bytes, at);
    if (length === null) continue;
    try {
      yield Buffer.from(Bun.zstdDecompressSync(bytes.subarray(at, at + length)));
    } catch {
      // The four bytes only looked like the start of a frame.
    }
  }
  for (const at of offsetsOf(bytes, GZIP)) {
    try {
      yield gunzipSync(bytes.subarray(at));
    } catch {
      // Likewise.
    }
  }
  const text = bytes.toString("latin1");
  for (const [lines] of text.matchAll(BASE64_LINES)) {
    const word = lines.replace(/\s/g, "");
    for (const offset of BASE64_OFFSETS) yield Buffer.from(word.slice(offset), "base64");
  }
  if (/=(\r?\n|[0-9A-F]{2})/.test(text)) yield quotedPrintable(text);
}

function quotedPrintable(text: string): Buffer {
  const joined = text.replace(/=\r?\n/g, "");
  const decoded = joined.replace(/=([0-9A-F]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(decoded, "latin1");
}

/** One half of the bytes: for an ASCII text in UTF-16, its characters. */
function everySecondByte(bytes: Buffer, first: 0 | 1): string {
  const half = Buffer.alloc(Math.ceil((bytes.length - first) / 2));
  for (let at = 0; at < half.length; at += 1) half[at] = bytes[first + at * 2] ?? 0;
  return half.toString("latin1");
}

/** Searches files for {@link Markers} in any case, plain, encoded or compressed. */
export class DiskSearch {
  /** The places where each marker was found. */
  readonly found = new Map<string, Set<string>>();
  /** Free database pages that are not empty: their content is unknown. */
  readonly unreadable: string[] = [];

  /** Searches bytes, and whatever they decode to. */
  search(bytes: Buffer, place: string, depth = 0): void {
    const plain = bytes.toString("latin1");
    for (const text of [plain, everySecondByte(bytes, 0), everySecondByte(bytes, 1)])
      this.recordMarkers(text, place);
    for (const [hex] of plain.matchAll(HEX)) {
      this.recordMarkers(Buffer.from(hex, "hex").toString("latin1"), place);
    }
    if (depth >= DEPTH_MAX) return;
    for (const decoded of decodedForms(bytes)) {
      if (decoded.length > PREFIX.length + LETTERS) this.search(decoded, place, depth + 1);
    }
  }

  private recordMarkers(text: string, place: string): void {
    for (const [, marker = ""] of text.matchAll(MARKER)) {
      const places = this.found.get(marker.toLowerCase()) ?? new Set();
      this.found.set(marker.toLowerCase(), places.add(place));
    }
  }

  searchFile(path: string): void {
    const bytes = readFilled(path);
    this.search(bytes, path);
    if (!isSqlite(bytes)) return;
    const { payloads, freePagesInUse } = readSqlitePages(readFileSync(path));
    for (const payload of payloads) this.search(payload, path);
    this.unreadable.push(...freePagesInUse.map((page) => `${path} page ${page}`));
  }

  /** Searches all files below a directory and their names. Skips files that are removed meanwhile. */
  searchDirectory(path: string): void {
    for (const entry of readdirSync(path, { recursive: true, withFileTypes: true })) {
      const full = join(entry.parentPath, entry.name);
      this.search(Buffer.from(entry.name), `the name of ${full}`);
      if (!entry.isFile()) continue;
      try {
        this.searchFile(full);
      } catch (error) {
        if ((error as { code?: string }).code !== "ENOENT") throw error;
      }
    }
  }
}

const BLOCK_BYTES = 1_048_576;
const EMPTY_BLOCK = Buffer.alloc(BLOCK_BYTES);

/** A file without its empty blocks: it may have been preallocated and filled only at the start. */
function readFilled(path: string): Buffer {
  const file = openSync(path, "r");
  try {
    const filled: Buffer[] = [];
    for (let at = 0; ; at += BLOCK_BYTES) {
      const block = Buffer.alloc(BLOCK_BYTES);
      const length = readSync(file, block, 0, BLOCK_BYTES, at);
      if (length === 0) return Buffer.concat(filled);
      if (!block.equals(EMPTY_BLOCK)) filled.push(block.subarray(0, length));
    }
  } finally {
    closeSync(file);
  }
}
