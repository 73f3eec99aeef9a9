/** What a byte search of a SQLite file cannot find (https://sqlite.org/fileformat2.html). */
export interface SqlitePages {
  /** Payloads of table rows that span several pages, reassembled. */
  readonly payloads: readonly Buffer[];
  /** Free pages that are not empty. */
  readonly freePagesInUse: readonly number[];
}

const MAGIC = "SQLite format 3\0";
const HEADER_BYTES = 100;
const TABLE_LEAF = 0x0d;

export function isSqlite(file: Buffer): boolean {
  return file.subarray(0, MAGIC.length).toString("latin1") === MAGIC;
}

function varint(page: Buffer, at: number): readonly [value: number, end: number] {
  let value = 0;
  for (let index = 0; index < 9; index += 1) {
    const byte = page[at + index] ?? 0;
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) return [value, at + index + 1];
  }
  return [value, at + 9];
}

/** Reads the pages of a database file. Skips what it cannot parse if the file is being written. */
export function readSqlitePages(file: Buffer): SqlitePages {
  const size = file.readUInt16BE(16) === 1 ? 65_536 : file.readUInt16BE(16);
  const usableBytes = size - (file[20] ?? 0);
  const count = Math.floor(file.length / size);
  const pageOf = (number: number) => file.subarray((number - 1) * size, number * size);
  const payloads: Buffer[] = [];
  for (let number = 1; number <= count; number += 1) {
    for (const payload of spilledPayloads(pageOf, { number, usableBytes, count })) payloads.push(payload);
  }
  return { payloads, freePagesInUse: freePagesInUse(file, pageOf, usableBytes) };
}

interface PageContext {
  readonly number: number;
  readonly usableBytes: number;
  readonly count: number;
}

function spilledPayloads(
  pageOf: (number: number) => Buffer,
  { number, usableBytes, count }: PageContext,
): readonly Buffer[] {
  const page = pageOf(number);
  const start = number === 1 ? HEADER_BYTES : 0;
  if (page[start] !== TABLE_LEAF) return [];
  const cells = Math.min(page.readUInt16BE(start + 3), Math.floor((usableBytes - start - 8) / 2));
  const found: Buffer[] = [];
  for (let cell = 0; cell < cells; cell += 1) {
    const at = page.readUInt16BE(start + 8 + cell * 2);
    const [length, afterLength] = varint(page, at);
    const [, body] = varint(page, afterLength);
    const localBytesMax = usableBytes - 35;
    if (length <= localBytesMax) continue;
    const localBytesMin = Math.floor(((usableBytes - 12) * 32) / 255) - 23;
    const localBytes = localBytesMin + ((length - localBytesMin) % (usableBytes - 4));
    const local = localBytes <= localBytesMax ? localBytes : localBytesMin;
    if (body + local + 4 > usableBytes) continue;
    const pieces = [page.subarray(body, body + local)];
    let next = page.readUInt32BE(body + local);
    for (let left = length - local; left > 0 && next >= 1 && next <= count; left -= usableBytes - 4) {
      const overflow = pageOf(next);
      pieces.push(overflow.subarray(4, 4 + Math.min(left, usableBytes - 4)));
      next = overflow.readUInt32BE(0);
    }
    found.push(Buffer.concat(pieces));
  }
  return found;
}

/** SQLite overwrites free pages with zeros (`secure_delete`), except for the list of free pages. */
function freePagesInUse(
  file: Buffer,
  pageOf: (number: number) => Buffer,
  usableBytes: number,
): readonly number[] {
  const found: number[] = [];
  const limit = file.length;
  let trunk = file.readUInt32BE(32);
  for (let seen = 0; trunk !== 0 && seen < limit; seen += 1) {
    const page = pageOf(trunk);
    const leaves = Math.min(page.readUInt32BE(4), usableBytes / 4 - 2);
    if (page.subarray(8 + leaves * 4, usableBytes).some((byte) => byte !== 0)) found.push(trunk);
    for (let leaf = 0; leaf < leaves; leaf += 1) {
      const number = page.readUInt32BE(8 + leaf * 4);
      if (pageOf(number).some((byte) => byte !== 0)) found.push(number);
    }
    trunk = page.readUInt32BE(0);
  }
  return found;
}
