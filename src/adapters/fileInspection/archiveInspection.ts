import { createInflateRaw } from "node:zlib";
import { nextTurn } from "../../kernel/concurrency/sleep.ts";
import { isBlockedExtension } from "./blockedExtensions.ts";
import { isArchive, isOleFile, isProgram } from "./executableSignatures.ts";
import { extensionOf } from "./fileNameRules.ts";
import { OfficeActiveContent } from "./officeActiveContent.ts";
import { readZipCentralDirectory, type ZipEntry } from "./zipCentralDirectory.ts";

const ENTRIES_MAX = 2_000;
const DECLARED_BYTES_MAX = 100_000_000;
const RATIO_MAX = 100;
/** A small file may be all blanks and compress better than that; a bomb is not small. */
const RATIO_GRACE_BYTES = 100_000;
/** Permits documents within documents within a document. Deeper ones are there to hide something. */
const DEPTH_MAX = 2;
/** How much unpacked data to keep: enough for a list of content types and for an embedded document. */
const KEPT_BYTES_MAX = 5_000_000;
/** How many bytes of an uncompressed file to read before yielding to the event loop: some milliseconds' work. */
const TURN_BYTES = 65_536;

const DOCUMENT = /^(?:docx|xlsx|pptx)$/;
const CONTENT_TYPES = "[content_types].xml";
/** Where Office and LibreOffice keep code: VBA, ActiveX controls, Excel 4 macro sheets, Basic and script libraries. */
const CODE =
  /(?:^|\/)vbaproject\.bin$|(?:^|\/)activex(?:\/|\d*\.)|^xl\/macrosheets\/|(?:^|\/)(?:basic|scripts)\//;
/** The same by a part's type in the list of content types, however the package names the file. */
const CODE_TYPE = /vbaProject|macroEnabled|activeX|macrosheet/i;

/** How much an archive, and all archives within it, may still unpack. */
interface UnpackBudget {
  entries: number;
  bytes: number;
}

/**
 * What is wrong with a zip archive, as the end of a sentence; null if nothing is. `document` is true for OOXML and ODF,
 * which must not contain code. It unpacks everything without keeping it, so no declared size can be false.
 */
export async function inspectArchive(bytes: Uint8Array, document: boolean): Promise<string | null> {
  return walk(bytes, document, 0, { entries: ENTRIES_MAX, bytes: DECLARED_BYTES_MAX });
}

async function walk(
  bytes: Uint8Array,
  document: boolean,
  depth: number,
  budget: UnpackBudget,
): Promise<string | null> {
  const entries = await readZipCentralDirectory(bytes, budget.entries);
  if (typeof entries === "string") return entries;
  const declaredBytes = entries.reduce((sum, entry) => sum + entry.declaredBytes, 0);
  budget.entries -= entries.length;
  budget.bytes -= declaredBytes;
  if (budget.bytes < 0) return `unpacks to more than ${DECLARED_BYTES_MAX} bytes`;
  if (isBomb(declaredBytes, bytes.length)) return `unpacks to more than ${RATIO_MAX} times its size`;
  for (const entry of entries) {
    const fault = nameFault(entry.name, document) ?? (await contentFault(entry, document, depth, budget));
    if (fault !== null) return fault;
  }
  return null;
}

function isBomb(declaredBytes: number, packedBytes: number): boolean {
  return declaredBytes > RATIO_GRACE_BYTES && declaredBytes > packedBytes * RATIO_MAX;
}

function nameFault(name: string, document: boolean): string | null {
  if (document && CODE.test(name.toLowerCase())) return "holds macros or controls";
  const segments = name.slice(name.lastIndexOf("/") + 1).split(".");
  return segments.slice(1).some(isBlockedExtension) ? "holds a program" : null;
}

async function contentFault(
  entry: ZipEntry,
  document: boolean,
  depth: number,
  budget: UnpackBudget,
): Promise<string | null> {
  if (isBomb(entry.declaredBytes, entry.data.length)) return `holds a file over ${RATIO_MAX} times its size`;
  const extension = extensionOf(entry.name);
  const unpacked = await unpack(entry, document ? new OfficeActiveContent(extension) : null);
  if (typeof unpacked === "string") return unpacked;
  const { content } = unpacked;
  // OOXML fonts begin with scrambled bytes (ECMA-376 part 4 §2.8.1), which may look like anything.
  if (extension === "odttf") return null;
  if (isProgram(content)) return "holds a program";
  if (document && isMacroPackage(entry.name, content)) return "holds macros or controls";
  if (document && isOleFile(content)) return "holds an OLE object";
  if (!isArchive(content)) return null;
  const isWhole = content.length === entry.declaredBytes;
  if (!DOCUMENT.test(extension) || !isWhole || depth >= DEPTH_MAX) return "holds another archive";
  return walk(content, true, depth + 1, budget);
}

function isMacroPackage(name: string, content: Uint8Array): boolean {
  return name.toLowerCase() === CONTENT_TYPES && CODE_TYPE.test(Buffer.from(content).toString("latin1"));
}

/** Unpacks all of a file and returns the start of its content, or a text that says what is wrong with it. */
async function unpack(
  entry: ZipEntry,
  markup: OfficeActiveContent | null,
): Promise<{ readonly content: Uint8Array } | string> {
  const isLie = "holds a file that does not unpack to its size";
  if (entry.method === 0) {
    if (entry.data.length !== entry.declaredBytes) return isLie;
    return (markup && (await readInTurns(entry.data, markup))) ?? { content: entry.data };
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  const inflate = createInflateRaw();
  inflate.end(entry.data);
  try {
    for await (const chunk of inflate as AsyncIterable<Buffer>) {
      if (bytes < KEPT_BYTES_MAX) chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > entry.declaredBytes) return isLie;
      const fault = markup?.read(chunk, bytes === entry.declaredBytes) ?? null;
      if (fault !== null) return fault;
    }
  } catch {
    return isLie;
  }
  return bytes === entry.declaredBytes ? { content: Buffer.concat(chunks) } : isLie;
}

/** Reads what arrives at once; what is inflated arrives in pieces anyway. */
async function readInTurns(data: Uint8Array, markup: OfficeActiveContent): Promise<string | null> {
  for (let at = 0; at < data.length; at += TURN_BYTES) {
    const fault = markup.read(data.subarray(at, at + TURN_BYTES), at + TURN_BYTES >= data.length);
    if (fault !== null) return fault;
    await nextTurn();
  }
  return null;
}
