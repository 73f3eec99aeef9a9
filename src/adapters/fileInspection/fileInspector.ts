import { fairMutex } from "../../kernel/concurrency/fairMutex.ts";
import { nextTurn } from "../../kernel/concurrency/sleep.ts";
import { excerpt } from "../../kernel/text/textLength.ts";
import type {
  AttachmentInspector,
  InspectedFile,
  InspectionResult,
} from "../../ports/attachmentInspector.ts";
import type { MalwareScanner } from "../../ports/malwareScanner.ts";
import { extensionOfType, type FileFormat, formatOf } from "./allowedFormats.ts";
import { inspectArchive } from "./archiveInspection.ts";
import { extensionOf } from "./fileNameRules.ts";
import { CLEAN, inspectNameAndType, invalid } from "./nameAndTypeInspection.ts";
import { inspectText, textOf } from "./textInspection.ts";

const MALWARE_NAME_CHARS_MAX = 100;
/**
 * The formats found by `file-type` that a text can really have. It recognizes others by letters that a text may begin
 * with (BM, GIF, FORM, MAC), but those formats need control bytes, which a text must not contain.
 */
const FORMATS_OF_TEXT = new Set(["pdf", "ps", "eps", "rtf", "xml", "ics", "vcf", "vtt", "reg", "pgp", "exe"]);

/** Inspects files by the allow-list: the name, the type for its extension, and the content. */
export function fileInspector(options: { readonly scanner: MalwareScanner | null }): AttachmentInspector {
  // 1 MB may unpack to 100 MB, so several at once would delay everything else.
  const archives = fairMutex();
  return {
    contentTypeOf: (filename, { archiveAttachments }) =>
      formatOf(extensionOf(filename), archiveAttachments)?.type ?? null,
    extensionOf: (contentType) => extensionOfType(contentType) ?? null,
    inspectName: inspectNameAndType,
    async inspect(file, allowances, owner) {
      const named = inspectNameAndType(file, allowances);
      if (named.kind !== "clean") return named;
      const format = formatOf(extensionOf(file.filename), allowances.archiveAttachments);
      const look = (document: boolean) => archives.run(owner, () => inspectArchive(file.bytes, document));
      const fault = format && (await contentFault(file, format, look));
      if (fault) return invalid("bytes", `the file ${fault}`);
      return scan(file, options.scanner);
    },
  };
}

/** What is wrong with the content, as the rest of a sentence after "the file"; null if nothing is. */
async function contentFault(
  { bytes }: InspectedFile,
  format: FileFormat,
  lookIntoArchive: (document: boolean) => Promise<string | null>,
): Promise<string | null> {
  if (bytes.length === 0) return "is empty";
  switch (format.check) {
    case "pdf":
      return begins(bytes, "%PDF-") ? null : unlike(format);
    case "media":
      return (await isFound(bytes, format)) ? null : unlike(format);
    case "office":
      return (await isFound(bytes, format)) ? lookIntoArchive(true) : unlike(format);
    case "archive":
      return begins(bytes, "PK") ? lookIntoArchive(false) : unlike(format);
    case "email":
      return /^[!-9;-~]+:/.test(latin1Head(bytes)) ? null : unlike(format);
    case "signature":
      return bytes[0] === 0x30 || begins(bytes, "-----BEGIN ") ? null : unlike(format);
    default:
      return plainFault(bytes, format);
  }
}

async function plainFault(bytes: Uint8Array, format: FileFormat): Promise<string | null> {
  const text = textOf(bytes);
  if (text === null) return "is not UTF-8 text without control characters";
  // To decode and to inspect 5 MB takes some milliseconds each.
  await nextTurn();
  const fault = await inspectText(text, format.check);
  if (fault !== null) return fault;
  const found = await find(bytes);
  const isFine = found === null || format.found.includes(found) || !FORMATS_OF_TEXT.has(found);
  return isFine ? null : unlike(format);
}

async function find(bytes: Uint8Array): Promise<string | null> {
  // Loaded with the first file, to keep the start fast.
  const { fileTypeFromBuffer } = await import("file-type");
  try {
    return (await fileTypeFromBuffer(bytes))?.ext ?? null;
  } catch {
    // It throws on some broken files; treat their format as unknown.
    return null;
  }
}

async function isFound(bytes: Uint8Array, format: FileFormat): Promise<boolean> {
  return format.found.includes((await find(bytes)) ?? "");
}

function unlike(format: FileFormat): string {
  return `has content that is not ${format.type}`;
}

function latin1Head(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, 1_000)).toString("latin1");
}

function begins(bytes: Uint8Array, text: string): boolean {
  return latin1Head(bytes).startsWith(text);
}

async function scan({ bytes }: InspectedFile, scanner: MalwareScanner | null): Promise<InspectionResult> {
  const result = scanner === null ? "clean" : await scanner.scan(bytes);
  if (result === "clean") return CLEAN;
  return invalid("bytes", `the malware scanner found ${excerpt(result.found, MALWARE_NAME_CHARS_MAX)}`);
}
