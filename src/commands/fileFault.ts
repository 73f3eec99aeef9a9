import { decodeBase64 } from "../kernel/base64.ts";
import type { InspectionResult } from "../ports/attachmentInspector.ts";

/** Why a file cannot be taken. The message is for the person who sent it. */
export interface FileFault {
  readonly code: "ATTACHMENT_LIMIT_EXCEEDED" | "ATTACHMENT_INVALID" | "ATTACHMENT_TYPE_UNSUPPORTED";
  readonly message: string;
}

export const EMPTY_FILE: FileFault = { code: "ATTACHMENT_INVALID", message: "is an empty file" };

/** What an inspection found wrong; null when nothing is. */
export function faultOf(result: InspectionResult): FileFault | null {
  if (result.kind === "sound") return null;
  const code = result.kind === "unsupported" ? "ATTACHMENT_TYPE_UNSUPPORTED" : "ATTACHMENT_INVALID";
  return { code, message: result.reason };
}

/** The bytes of a file that came as Base64 text (spec: Direct attachment); its size was looked at before. */
export function decodeFile(content: string): Uint8Array | FileFault {
  if (content === "") return EMPTY_FILE;
  if (/^data:/i.test(content)) {
    return { code: "ATTACHMENT_INVALID", message: "is a data URL, not Base64 alone" };
  }
  return decodeBase64(content) ?? { code: "ATTACHMENT_INVALID", message: "is not standard Base64" };
}
