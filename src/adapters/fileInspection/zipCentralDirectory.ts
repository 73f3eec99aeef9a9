import { type Entry, fromBufferPromise, getFileNameLowLevel } from "yauzl";

/** One file of an archive, on which the central directory and the file's own header agree. */
export interface ZipEntry {
  readonly name: string;
  /** 0: stored, 8: deflated. */
  readonly method: number;
  /** The stored bytes. */
  readonly data: Uint8Array;
  /** How many bytes they should unpack to, according to the archive. */
  readonly declaredBytes: number;
}

/** The longest data descriptor after a file's data: ZIP64 with signature (APPNOTE 4.3.9). */
const DESCRIPTOR_BYTES_MAX = 24;
const LOCAL_HEADER_BYTES = 30;
const DIRECTORY_HEADER_BYTES = 46;
const END_BYTES = 22;
const ZIP64_LOCATOR_BYTES = 20;
const LOCAL_HEADER_SIGNATURE = 0x04034b50;
const ZIP64_LOCATOR_SIGNATURE = 0x07064b50;
const FILE_KIND = 0xf000;
const SYMBOLIC_LINK = 0xa000;

/**
 * The files of an archive, or what is wrong with it. Refuses anything that two readers could understand differently:
 * files that the directory does not list, that overlap or occur twice, and headers that differ from the directory.
 */
export async function readZipCentralDirectory(
  bytes: Uint8Array,
  entriesMax: number,
): Promise<readonly ZipEntry[] | string> {
  const archive = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const listed = await listEntries(archive, entriesMax);
  if (typeof listed === "string") return listed;
  const faulty = listed.map(entryFault).find((fault) => fault !== null);
  if (faulty) return faulty;
  const names = new Set(listed.map((entry) => nameOf(entry).toLowerCase()));
  if (names.size < listed.length) return "names one of its files twice";
  return locateEntries(archive, listed);
}

async function listEntries(archive: Buffer, entriesMax: number): Promise<readonly Entry[] | string> {
  const tooMany = `holds more than ${entriesMax} files`;
  try {
    const zip = await fromBufferPromise(archive, { decodeStrings: false });
    if (zip.entryCount > entriesMax) return tooMany;
    // A comment can contain a second end of the directory, and readers differ in which one they use.
    if (zip.comment.length > 0) return "has a comment";
    const entries: Entry[] = [];
    for await (const entry of zip.eachEntry()) entries.push(entry);
    return entries;
  } catch {
    return "is not a sound archive";
  }
}

function nameOf(entry: Entry): string {
  return getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false);
}

function entryFault(entry: Entry): string | null {
  if (entry.isEncrypted()) return "is encrypted";
  if (!entry.canDecodeFileData()) return "is packed in a way that is not supported";
  if (isSymbolicLink(entry)) return "holds a symbolic link";
  // Readers differ in which of the two names they use.
  const names = [nameOf(entry), entry.fileNameRaw.toString("latin1")];
  return names.some(escapes) ? "holds a path that leads out of it" : null;
}

/** Unix file modes are in the upper half of the attributes. */
function isSymbolicLink(entry: Entry): boolean {
  return ((entry.externalFileAttributes >>> 16) & FILE_KIND) === SYMBOLIC_LINK;
}

function escapes(name: string): boolean {
  const segments = name.split(/[/\\]/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a name with controls means different things to different readers.
  return name === "" || segments[0] === "" || segments.includes("..") || /[\x00-\x1f\x7f:]/.test(name);
}

/** Finds each file's data, and requires that files follow each other with nothing between them. */
function locateEntries(archive: Buffer, listed: readonly Entry[]): readonly ZipEntry[] | string {
  const entries: ZipEntry[] = [];
  let end = 0;
  const inOrder = listed.toSorted((a, b) => a.relativeOffsetOfLocalHeader - b.relativeOffsetOfLocalHeader);
  for (const entry of inOrder) {
    const start = entry.relativeOffsetOfLocalHeader;
    const dataStart = localDataStart(archive, entry);
    if (dataStart === null || !isNext(start, end)) return "is not what its directory says";
    end = dataStart + entry.compressedSize;
    const { compressionMethod: method, uncompressedSize: declaredBytes } = entry;
    entries.push({ name: nameOf(entry), method, data: archive.subarray(dataStart, end), declaredBytes });
  }
  return isNext(directoryStart(archive, listed), end) ? entries : "is not what its directory says";
}

function isNext(start: number, end: number): boolean {
  return start >= end && start <= end + DESCRIPTOR_BYTES_MAX;
}

/** Where a file's data begins; null if its own header differs from the directory. */
function localDataStart(archive: Buffer, entry: Entry): number | null {
  const start = entry.relativeOffsetOfLocalHeader;
  if (start + LOCAL_HEADER_BYTES > archive.length) return null;
  if (archive.readUInt32LE(start) !== LOCAL_HEADER_SIGNATURE) return null;
  if (archive.readUInt16LE(start + 8) !== entry.compressionMethod) return null;
  const nameEnd = start + LOCAL_HEADER_BYTES + archive.readUInt16LE(start + 26);
  if (!archive.subarray(start + LOCAL_HEADER_BYTES, nameEnd).equals(entry.fileNameRaw)) return null;
  const dataStart = nameEnd + archive.readUInt16LE(start + 28);
  return dataStart + entry.compressedSize <= archive.length ? dataStart : null;
}

/** Where the directory must begin if it lists exactly these files. */
function directoryStart(archive: Buffer, listed: readonly Entry[]): number {
  const lengths = listed.map(
    (entry) =>
      DIRECTORY_HEADER_BYTES + entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength,
  );
  const locator = archive.length - END_BYTES - ZIP64_LOCATOR_BYTES;
  const isZip64 = locator >= 0 && archive.readUInt32LE(locator) === ZIP64_LOCATOR_SIGNATURE;
  const directoryEnd = isZip64 ? Number(archive.readBigUInt64LE(locator + 8)) : archive.length - END_BYTES;
  return lengths.reduce((start, length) => start - length, directoryEnd);
}
