import type { FileAllowances, InspectedFile, InspectionResult } from "../../ports/attachmentInspector.ts";
import { extensionsOf, formatOf } from "./allowedFormats.ts";
import { extensionOf, fileNameFault } from "./fileNameRules.ts";

export const CLEAN: InspectionResult = { kind: "clean" };

export function invalid(member: keyof InspectedFile, reason: string): InspectionResult {
  return { kind: "invalid", reason, member };
}

/** Checks a file by its name: may such a file be sent, and is its content type the one of its extension? */
export function inspectNameAndType(
  file: Omit<InspectedFile, "bytes">,
  allowances: FileAllowances,
): InspectionResult {
  const fault = fileNameFault(file.filename);
  if (fault !== null) return invalid("filename", `the file name ${fault}`);
  const extension = extensionOf(file.filename);
  const format = formatOf(extension, allowances.archiveAttachments);
  if (format === undefined) {
    const what = extension === "" ? "files without an extension" : "files with this extension";
    const accepted = extensionsOf(allowances.archiveAttachments).join(", ");
    const unless =
      formatOf(extension, true) === undefined
        ? ""
        : " unless the operator allows it (workspace limits --archive-attachments on)";
    const reason = `${what} cannot be sent${unless}, but ${accepted} can`;
    return { kind: "unsupported", reason, member: "filename" };
  }
  // The type must match exactly: no parameters, no capitals.
  if (file.contentType === format.type) return CLEAN;
  return invalid("contentType", `the content type of a .${extension} file must be exactly ${format.type}`);
}
