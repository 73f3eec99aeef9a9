export type ContentCheck =
  | "pdf"
  | "media"
  | "office"
  | "text"
  | "json"
  | "calendar"
  | "contact"
  | "xml"
  | "archive"
  | "email"
  | "signature";

export interface FileFormat {
  /** The MIME type, without parameters. */
  readonly type: string;
  readonly check: ContentCheck;
  /** The names that `file-type` has for such content. */
  readonly found: readonly string[];
}

function media(type: string, ...found: readonly string[]): FileFormat {
  return { type, check: "media", found };
}

function office(extension: string, type: string): FileFormat {
  return { type: `application/vnd.${type}`, check: "office", found: [extension] };
}

function plain(type: string, check: ContentCheck = "text", ...found: readonly string[]): FileFormat {
  return { type, check, found };
}

const OOXML = "openxmlformats-officedocument";
const ODF = "oasis.opendocument";

/** The formats that everybody may send, by extension. */
const FORMATS: Readonly<Record<string, FileFormat>> = {
  pdf: plain("application/pdf", "pdf", "pdf"),
  png: media("image/png", "png", "apng"),
  jpg: media("image/jpeg", "jpg"),
  jpeg: media("image/jpeg", "jpg"),
  gif: media("image/gif", "gif"),
  webp: media("image/webp", "webp"),
  heic: media("image/heic", "heic"),
  tif: media("image/tiff", "tif"),
  tiff: media("image/tiff", "tif"),
  bmp: media("image/bmp", "bmp"),
  docx: office("docx", `${OOXML}.wordprocessingml.document`),
  xlsx: office("xlsx", `${OOXML}.spreadsheetml.sheet`),
  pptx: office("pptx", `${OOXML}.presentationml.presentation`),
  odt: office("odt", `${ODF}.text`),
  ods: office("ods", `${ODF}.spreadsheet`),
  odp: office("odp", `${ODF}.presentation`),
  txt: plain("text/plain"),
  md: plain("text/markdown"),
  csv: plain("text/csv"),
  json: plain("application/json", "json"),
  ics: plain("text/calendar", "calendar", "ics"),
  vcf: plain("text/vcard", "contact", "vcf"),
  xml: plain("application/xml", "xml", "xml"),
  mp3: media("audio/mpeg", "mp3"),
  m4a: media("audio/mp4", "m4a"),
  wav: media("audio/wav", "wav"),
  mp4: media("video/mp4", "mp4"),
};

/** The formats that only workspaces with the operator's permission may send. */
const ARCHIVES: Readonly<Record<string, FileFormat>> = {
  zip: plain("application/zip", "archive"),
  pkpass: plain("application/vnd.apple.pkpass", "archive"),
  eml: plain("message/rfc822", "email"),
  p7s: plain("application/pkcs7-signature", "signature"),
};

function own(formats: Readonly<Record<string, FileFormat>>, extension: string): FileFormat | undefined {
  return Object.hasOwn(formats, extension) ? formats[extension] : undefined;
}

export function extensionsOf(archives: boolean): readonly string[] {
  return [...Object.keys(FORMATS), ...(archives ? Object.keys(ARCHIVES) : [])];
}

/** The format of an extension (lower case, without its dot); undefined if it cannot be sent. */
export function formatOf(extension: string, archives: boolean): FileFormat | undefined {
  return own(FORMATS, extension) ?? (archives ? own(ARCHIVES, extension) : undefined);
}

/** The first extension of a MIME type; undefined if it can never be sent. */
export function extensionOfType(type: string): string | undefined {
  const known = [...Object.entries(FORMATS), ...Object.entries(ARCHIVES)];
  return known.find(([, format]) => format.type === type)?.[0];
}
