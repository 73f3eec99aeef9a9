/** A file as its sender describes it, and its bytes. */
export interface InspectedFile {
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** What a workspace may send beyond the formats open to everybody. */
export interface FileAllowances {
  /** Whether zip, eml, p7s and pkpass files are accepted. */
  readonly archiveAttachments: boolean;
}

/** The result of inspecting a file. `reason` is written for the sender; `member` is the member at fault. */
export type InspectionResult =
  | { readonly kind: "clean" }
  /** The format is not supported. */
  | { readonly kind: "unsupported"; readonly reason: string; readonly member: "filename" }
  /** The name, the type and the content disagree, or the content is not allowed. */
  | { readonly kind: "invalid"; readonly reason: string; readonly member: keyof InspectedFile };

/** Inspects files before they are sent. Pure, apart from the malware scanner if there is one. */
export interface AttachmentInspector {
  /** The type that a file with this name must declare; null if it cannot be sent. */
  contentTypeOf(filename: string, allowances: FileAllowances): string | null;
  /** The extension, without its dot, for this MIME type; null when files of that format can never be sent. */
  extensionOf(contentType: string): string | null;
  /** Checks only the name (in NFC) and the declared type; needs no bytes. */
  inspectName(file: Omit<InspectedFile, "bytes">, allowances: FileAllowances): InspectionResult;
  /**
   * Checks everything. When files have to queue, owners take turns; `owner` says whose file this is. Throws
   * `ScannerError` when the malware scanner gives no verdict.
   */
  inspect(file: InspectedFile, allowances: FileAllowances, owner: string): Promise<InspectionResult>;
}
