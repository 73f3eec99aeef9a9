import { sha256Of } from "../kernel/contentPath.ts";
import type { AttachmentInspector, InspectionResult } from "../ports/attachmentInspector.ts";

/**
 * An inspector for one mail: each of its files is inspected for the first recipient only. Unpacking an archive, or
 * waiting for the malware scanner, a hundred times would hold up the mail of others.
 */
export function inspectOnce(inspector: AttachmentInspector): AttachmentInspector {
  const results = new Map<string, InspectionResult>();
  return {
    ...inspector,
    async inspect(file, allowances, owner) {
      const { filename, contentType, bytes } = file;
      const key = JSON.stringify([filename, contentType, sha256Of(bytes), allowances.archiveAttachments]);
      const result = results.get(key) ?? (await inspector.inspect(file, allowances, owner));
      results.set(key, result);
      return result;
    },
  };
}
