import type {
  AttachmentInspector,
  InspectedFile,
  InspectionResult,
} from "../../ports/attachmentInspector.ts";

const SOUND = { kind: "sound" } as const;
const PDF = [0x25, 0x50, 0x44, 0x46, 0x2d];
const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

const startsWith = (bytes: Uint8Array, signature: readonly number[]) =>
  signature.every((byte, index) => bytes[index] === byte);

function isText(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return bytes.every((byte) => byte >= 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d);
  } catch {
    return false;
  }
}

interface Format {
  readonly contentType: string;
  readonly agrees: (bytes: Uint8Array) => boolean;
}

/** What is taken, by the extension of the file's name. */
const FORMATS: ReadonlyMap<string, Format> = new Map([
  ["pdf", { contentType: "application/pdf", agrees: (bytes: Uint8Array) => startsWith(bytes, PDF) }],
  ["png", { contentType: "image/png", agrees: (bytes: Uint8Array) => startsWith(bytes, PNG) }],
  ["txt", { contentType: "text/plain", agrees: isText }],
]);

function formatOf(filename: string): Format | undefined {
  return FORMATS.get(filename.slice(filename.lastIndexOf(".") + 1).toLowerCase());
}

function inspectName({ filename, contentType }: Omit<InspectedFile, "bytes">): InspectionResult {
  const format = formatOf(filename);
  if (!format) return { kind: "unsupported", reason: "the extension is none of the supported ones" };
  if (format.contentType === contentType) return SOUND;
  return { kind: "invalid", reason: `the content type of such a file is ${format.contentType}` };
}

/** Looks at the name, the type and the first bytes of a file. */
export function fileInspector(): AttachmentInspector {
  return {
    inspectName,
    async inspect(file) {
      const named = inspectName(file);
      if (named.kind !== "sound") return named;
      if (formatOf(file.filename)?.agrees(file.bytes)) return SOUND;
      return { kind: "invalid", reason: "the content is not what the name says" };
    },
  };
}
