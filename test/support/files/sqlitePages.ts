/** What a SQLite database file holds apart from what stands in it byte for byte (https://sqlite.org/fileformat2.html). */
export interface SqlitePages {
  /** The payloads of table rows that are spread over several pages, put together. */
  readonly payloads: readonly Buffer[];
  /** Pages that nothing uses and that are not empty. */
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

/** Reads the pages of a database file. Of one that is being written, what cannot be made out is left out. */
export function readSqlitePages(file: Buffer): SqlitePages {
  const size = file.readUInt16BE(16) === 1 ? 65_536 : file.readUInt16BE(16);
  const usable = size - (file[20] ?? 0);
  const count = Math.floor(file.length / size);
  const pageOf = (number: number) => file.subarray((number - 1) * size, number * size);
  const payloads: Buffer[] = [];
  for (let number = 1; number <= count; number += 1) {
    for (const payload of spilledPayloads(pageOf, { number, usable, count })) payloads.push(payload);
  }
  return { payloads, freePagesInUse: freePagesInUse(file, pageOf, usable) };
}

interface Place {
  readonly number: number;
  readonly usable: number;
  readonly count: number;
}

function spilledPayloads(
  pageOf: (number: number) => Buffer,
  { number, usable, count }: Place,
): readonly Buffer[] {
  const page = pageOf(number);
  const start = number === 1 ? HEADER_BYTES : 0;
  if (page[start] !== TABLE_LEAF) return [];
  const cells = Math.min(page.readUInt16BE(start + 3), Math.floor((usable - start - 8) / 2));
  const found: Buffer[] = [];
  for (let cell = 0; cell < cells; cell += 1) {
    const at = page.readUInt16BE(start + 8 + cell * 2);
    const [length, afterLength] = varint(page, at);
    const [, body] = varint(page, afterLength);
    const most = usable - 35;
    if (length <= most) continue;
    const least = Math.floor(((usable - 12) * 32) / 255) - 23;
    const here = least + ((length - least) % (usable - 4));
    const local = here <= most ? here : least;
    if (body + local + 4 > usable) continue;
    const pieces = [page.subarray(body, body + local)];
    let next = page.readUInt32BE(body + local);
    for (let left = length - local; left > 0 && next >= 1 && next <= count; left -= usable - 4) {
      const overflow = pageOf(next);
      pieces.push(overflow.subarray(4, 4 + Math.min(left, usable - 4)));
      next = overflow.readUInt32BE(0);
    }
    found.push(Buffer.concat(pieces));
  }
  return found;
}

/** Free pages are overwritten with zeros (`secure_delete`), but for the list of them. */
function freePagesInUse(file: Buffer, pageOf: (number: number) => Buffer, usable: number): readonly number[] {
  const found: number[] = [];
  const limit = file.length;
  let trunk = file.readUInt32BE(32);
  for (let seen = 0; trunk !== 0 && seen < limit; seen += 1) {
    const page = pageOf(trunk);
    const leaves = Math.min(page.readUInt32BE(4), usable / 4 - 2);
    if (page.subarray(8 + leaves * 4, usable).some((byte) => byte !== 0)) found.push(trunk);
    for (let leaf = 0; leaf < leaves; leaf += 1) {
      const number = page.readUInt32BE(8 + leaf * 4);
      if (pageOf(number).some((byte) => byte !== 0)) found.push(number);
    }
    trunk = page.readUInt32BE(0);
  }
  return found;
}
