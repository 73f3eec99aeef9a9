/** A file as its sender describes it, and its bytes. */
export interface InspectedFile {
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** What a workspace may send beyond the formats that everybody may. */
export interface FileAllowances {
  /** Whether zip, eml, p7s and pkpass files are taken. */
  readonly archiveAttachments: boolean;
}

/** What became of a look at a file. Reasons are for the person who sent it; `member` is what they are about. */
export type InspectionResult =
  | { readonly kind: "clean" }
  /** The format is none of the supported ones. */
  | { readonly kind: "unsupported"; readonly reason: string; readonly member: "filename" }
  /** The name, the type and the content do not go together, or the content is not allowed. */
  | { readonly kind: "invalid"; readonly reason: string; readonly member: keyof InspectedFile };

/** Looks into files before they are sent. Pure but for a malware scanner, where there is one. */
export interface AttachmentInspector {
  /** The type that a file of this name must be declared as; null where it cannot be sent. */
  contentTypeOf(filename: string, allowances: FileAllowances): string | null;
  /** The extension, without its dot, of files of this MIME type; null when files of that format can never be sent. */
  extensionOf(contentType: string): string | null;
  /** What the name (in NFC) and the declared type alone say: no bytes needed. */
  inspectName(file: Omit<InspectedFile, "bytes">, allowances: FileAllowances): InspectionResult;
  /**
   * Everything. Where files have to wait for each other, `owner` says whose this one is: owners take turns. Throws
   * `StoreError` `unavailable` when the malware scanner cannot be asked.
   */
  inspect(file: InspectedFile, allowances: FileAllowances, owner: string): Promise<InspectionResult>;
}
