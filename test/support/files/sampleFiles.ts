import { crc32, deflateSync } from "node:zlib";
import { writeZip, type ZipPart } from "./zipWriter.ts";

function be32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function le32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function bytesOf(...parts: readonly (string | Buffer | readonly number[])[]): Buffer {
  return Buffer.concat(
    parts.map((part) => (typeof part === "string" ? Buffer.from(part, "latin1") : Buffer.from(part))),
  );
}

function pngChunk(type: string, data: Buffer): Buffer {
  const body = bytesOf(type, data);
  return bytesOf(be32(data.length), body, be32(crc32(body)));
}

/** One black pixel (PNG, third edition, §5). */
function png(): Buffer {
  const header = bytesOf(be32(1), be32(1), [8, 0, 0, 0, 0]);
  const pixels = deflateSync(Buffer.from([0, 0]));
  return bytesOf(
    [0x89],
    "PNG\r\n\x1a\n",
    pngChunk("IHDR", header),
    pngChunk("IDAT", pixels),
    pngChunk("IEND", Buffer.alloc(0)),
  );
}

/** A file of the ISO base media format (ISO/IEC 14496-12): its type box and an empty data box. */
function isoMedia(brand: string): Buffer {
  return bytesOf(be32(24), "ftyp", brand, be32(0), brand, "mif1", be32(16), "mdat", be32(0), be32(0));
}

function wav(): Buffer {
  const format = bytesOf("fmt ", le32(16), [1, 0, 1, 0], le32(8_000), le32(8_000), [1, 0, 8, 0]);
  const samples = bytesOf("data", le32(4), [128, 128, 128, 128]);
  return bytesOf("RIFF", le32(4 + format.length + samples.length), "WAVE", format, samples);
}

function riff(type: string, chunk: Buffer): Buffer {
  return bytesOf("RIFF", le32(4 + chunk.length), type, chunk);
}

/** Little-endian, one directory with one tag: width 1 (TIFF 6.0 §2). */
function tiff(): Buffer {
  const width = [0x00, 0x01, 0x03, 0x00, 1, 0, 0, 0, 1, 0, 0, 0];
  return bytesOf([0x49, 0x49, 42, 0], le32(8), [1, 0], width, le32(0));
}

function bmp(): Buffer {
  const header = bytesOf(le32(40), le32(1), le32(1), [1, 0, 24, 0], Buffer.alloc(24));
  return bytesOf("BM", le32(58), le32(0), le32(54), header, [0, 0, 0, 0]);
}

const OFFICE_MAIN = {
  docx: ["word/document.xml", "wordprocessingml.document"],
  xlsx: ["xl/workbook.xml", "spreadsheetml.sheet"],
  pptx: ["ppt/presentation.xml", "presentationml.presentation"],
} as const;

/** An OOXML document (ECMA-376 part 2) with nothing in it but `more`. */
export function ooxml(kind: keyof typeof OFFICE_MAIN, more: readonly ZipPart[] = []): Buffer {
  const [path, type] = OFFICE_MAIN[kind];
  const override = `<Override PartName="/${path}" ContentType="application/vnd.openxmlformats-officedocument.${type}.main+xml"/>`;
  return writeZip([
    { name: "[Content_Types].xml", content: `<?xml version="1.0"?><Types>${override}</Types>` },
    { name: "_rels/.rels", content: '<?xml version="1.0"?><Relationships/>' },
    { name: path, content: `<?xml version="1.0"?><document>${"A paragraph. ".repeat(50)}</document>` },
    ...more,
  ]);
}

/** An ODF document (OASIS ODF 1.3 part 2) with nothing in it but `more`. */
export function odf(kind: "text" | "spreadsheet" | "presentation", more: readonly ZipPart[] = []): Buffer {
  return writeZip([
    { name: "mimetype", content: `application/vnd.oasis.opendocument.${kind}`, stored: true },
    { name: "content.xml", content: '<?xml version="1.0"?><office:document-content/>' },
    { name: "META-INF/manifest.xml", content: '<?xml version="1.0"?><manifest:manifest/>' },
    ...more,
  ]);
}

/** The beginning of a Windows program: an MZ header that points at a PE header. */
export function windowsProgram(): Buffer {
  const bytes = Buffer.alloc(512);
  bytes.write("MZ", 0, "latin1");
  bytes.writeUInt32LE(0x80, 0x3c);
  bytes.write("PE\0\0", 0x80, "latin1");
  return bytes;
}

const OOXML_TYPE = "application/vnd.openxmlformats-officedocument";
const ODF_TYPE = "application/vnd.oasis.opendocument";

/** A small valid file of each format that may be sent by default: extension, MIME type, content. */
export const SAMPLE_FILES: readonly (readonly [extension: string, type: string, bytes: Buffer])[] = [
  ["pdf", "application/pdf", bytesOf("%PDF-1.4\n1 0 obj<<>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n")],
  ["png", "image/png", png()],
  ["jpg", "image/jpeg", bytesOf([0xff, 0xd8, 0xff, 0xe0, 0, 16], "JFIF\0", [1, 1, 0, 0, 1, 0, 1, 0, 0])],
  ["jpeg", "image/jpeg", bytesOf([0xff, 0xd8, 0xff, 0xe1, 0, 8], "Exif\0\0", [0xff, 0xd9])],
  ["gif", "image/gif", bytesOf("GIF89a", [1, 0, 1, 0, 0x80, 0, 0, 0, 0, 0, 255, 255, 255, 0x3b])],
  ["webp", "image/webp", riff("WEBP", bytesOf("VP8 ", le32(10), [0x30, 1, 0, 0x9d, 1, 0x2a, 1, 0, 1, 0]))],
  ["heic", "image/heic", isoMedia("heic")],
  ["tif", "image/tiff", tiff()],
  ["tiff", "image/tiff", bytesOf([0x4d, 0x4d, 0, 42], be32(8), [0, 0], be32(0))],
  ["bmp", "image/bmp", bmp()],
  ["docx", `${OOXML_TYPE}.wordprocessingml.document`, ooxml("docx")],
  ["xlsx", `${OOXML_TYPE}.spreadsheetml.sheet`, ooxml("xlsx")],
  ["pptx", `${OOXML_TYPE}.presentationml.presentation`, ooxml("pptx")],
  ["odt", `${ODF_TYPE}.text`, odf("text")],
  ["ods", `${ODF_TYPE}.spreadsheet`, odf("spreadsheet")],
  ["odp", `${ODF_TYPE}.presentation`, odf("presentation")],
  ["txt", "text/plain", Buffer.from("Grüße,\r\n\tAnna 👋\n")],
  ["md", "text/markdown", Buffer.from("# Invoice\n\n* one\n")],
  ["csv", "text/csv", Buffer.from("\ufeffname;price\r\nTea;1,50\r\n")],
  ["json", "application/json", Buffer.from('{"a":[1,"[\\"{",null]}')],
  ["ics", "text/calendar", Buffer.from("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n")],
  ["vcf", "text/vcard", Buffer.from("BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Anna\r\nEND:VCARD\r\n")],
  ["xml", "application/xml", Buffer.from('<?xml version="1.0" encoding="UTF-8"?>\n<!-- a --><Invoice/>')],
  ["mp3", "audio/mpeg", bytesOf([0xff, 0xfb, 0x90, 0x44], Buffer.alloc(413))],
  ["m4a", "audio/mp4", isoMedia("M4A ")],
  ["wav", "audio/wav", wav()],
  ["mp4", "video/mp4", isoMedia("isom")],
];
