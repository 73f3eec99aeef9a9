import { base64Fault, decodeBase64 } from "../../kernel/text/base64.ts";
import type { InspectionResult } from "../../ports/attachmentInspector.ts";

/** Why a file is refused. The message is for the person who sent it. */
export interface FileFault {
  readonly code: "ATTACHMENT_LIMIT_EXCEEDED" | "ATTACHMENT_INVALID" | "ATTACHMENT_TYPE_UNSUPPORTED";
  readonly message: string;
  /** Which member of the file is at fault. */
  readonly member: "filename" | "contentType" | "bytes";
}

export const EMPTY_FILE = invalidContent("is an empty file");

function invalidContent(message: string): FileFault {
  return { code: "ATTACHMENT_INVALID", message, member: "bytes" };
}

/**
 * A file's name as we store it: in NFC, like most systems. macOS gives the same names in NFD, where an accent is a
 * character of its own.
 */
export function normalizedFilename(filename: string): string {
  return filename.normalize("NFC");
}

/** What an inspection found wrong; null if nothing. */
export function fileFaultOf(result: InspectionResult): FileFault | null {
  if (result.kind === "clean") return null;
  const code = result.kind === "unsupported" ? "ATTACHMENT_TYPE_UNSUPPORTED" : "ATTACHMENT_INVALID";
  return { code, message: result.reason, member: result.member };
}

/** Decodes a file from Base64. The caller has checked its size. */
export function decodeFile(content: string): Uint8Array | FileFault {
  if (content === "") return EMPTY_FILE;
  if (/^data:/i.test(content)) return invalidContent("is a data URL, not Base64 alone");
  return decodeBase64(content) ?? invalidContent(base64Fault(content));
}
