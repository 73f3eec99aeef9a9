import { decodeBase64 } from "../../kernel/text/base64.ts";
import type { InspectionResult } from "../../ports/attachmentInspector.ts";

/** Why a file cannot be taken. The message is for the person who sent it. */
export interface FileFault {
  readonly code: "ATTACHMENT_LIMIT_EXCEEDED" | "ATTACHMENT_INVALID" | "ATTACHMENT_TYPE_UNSUPPORTED";
  readonly message: string;
  /** What of the file is at fault. */
  readonly member: "filename" | "contentType" | "bytes";
}

export const EMPTY_FILE = invalidContent("is an empty file");

function invalidContent(message: string): FileFault {
  return { code: "ATTACHMENT_INVALID", message, member: "bytes" };
}

/**
 * A file's name as we keep it: in NFC, as most of the world writes names. macOS hands out the same names in NFD, where
 * an accent is a character of its own.
 */
export function normalizedFilename(filename: string): string {
  return filename.normalize("NFC");
}

/** What an inspection found wrong; null when nothing is. */
export function fileFaultOf(result: InspectionResult): FileFault | null {
  if (result.kind === "clean") return null;
  const code = result.kind === "unsupported" ? "ATTACHMENT_TYPE_UNSUPPORTED" : "ATTACHMENT_INVALID";
  return { code, message: result.reason, member: result.member };
}

/** The bytes of a file that came as Base64 text; its size was looked at before. */
export function decodeFile(content: string): Uint8Array | FileFault {
  if (content === "") return EMPTY_FILE;
  if (/^data:/i.test(content)) return invalidContent("is a data URL, not Base64 alone");
  return decodeBase64(content) ?? invalidContent("is not standard Base64");
}
