import { clamavScanner } from "../../adapters/clamav/clamavScanner.ts";
import { fileInspector } from "../../adapters/fileInspection/fileInspector.ts";
import type { AttachmentInspector } from "../../ports/attachmentInspector.ts";
import type { MalwareScanner } from "../../ports/malwareScanner.ts";
import type { Config } from "../config/config.ts";

export function openAttachmentInspector(config: Pick<Config, "clamavUrl">): AttachmentInspector {
  return fileInspector({ scanner: openMalwareScanner(config) });
}

/** The malware scanner that CLAMAV_URL names; null without one. */
export function openMalwareScanner({ clamavUrl }: Pick<Config, "clamavUrl">): MalwareScanner | null {
  return clamavUrl === null ? null : clamavScanner({ url: clamavUrl });
}
