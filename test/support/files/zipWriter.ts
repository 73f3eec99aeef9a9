import { crc32, deflateRawSync } from "node:zlib";

/** One file of an archive. What is not given is as it should be; the rest is for archives that lie. */
export interface ZipPart {
  readonly name: string;
  readonly content?: Uint8Array | string;
  readonly stored?: boolean;
  /** The name in the directory, when it is another than in the file's own header. */
  readonly listedName?: string;
  /** The size that the directory says it unpacks to. */
  readonly declaredBytes?: number;
  readonly flags?: number;
  readonly method?: number;
  /** A Unix mode, for links. */
  readonly mode?: number;
  /** In the archive, and not in its directory. */
  readonly unlisted?: boolean;
  /** In the directory, and nowhere else in the archive. */
  readonly unwritten?: boolean;
  /** Where the directory says it begins. */
  readonly offset?: number;
}

interface Written {
  readonly part: ZipPart;
  readonly header: Buffer;
  readonly offset: number;
}

const UTF8_NAME = 0x0800;

/** The bytes of a zip archive (PKWARE APPNOTE 6.3). */
export function writeZip(
  parts: readonly ZipPart[],
  archive: { readonly comment?: string; readonly count?: number } = {},
): Buffer {
  const chunks: Buffer[] = [];
  const written: Written[] = [];
  let offset = 0;
  for (const part of parts) {
    const { header, local } = localFile(part);
    if (!part.unlisted) written.push({ part, header, offset });
    if (part.unwritten) continue;
    chunks.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(written.map(directoryHeader));
  const comment = Buffer.from(archive.comment ?? "");
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(archive.count ?? written.length, 8);
  end.writeUInt16LE(archive.count ?? written.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  end.writeUInt16LE(comment.length, 20);
  return Buffer.concat([...chunks, directory, end, comment]);
}

function localFile(part: ZipPart): { header: Buffer; local: Buffer } {
  const content = Buffer.from(part.content ?? "");
  const data = part.stored ? content : deflateRawSync(content);
  const name = Buffer.from(part.name);
  // The 26 bytes that the file's own header and the directory have in common (APPNOTE 4.3.7 and 4.3.12).
  const header = Buffer.alloc(26);
  header.writeUInt16LE(20, 0);
  header.writeUInt16LE(UTF8_NAME | (part.flags ?? 0), 2);
  header.writeUInt16LE(part.method ?? (part.stored ? 0 : 8), 4);
  header.writeUInt16LE(0x21, 8);
  header.writeUInt32LE(crc32(content), 10);
  header.writeUInt32LE(data.length, 14);
  header.writeUInt32LE(content.length, 18);
  header.writeUInt16LE(name.length, 22);
  return { header, local: Buffer.concat([Buffer.from("PK\x03\x04"), header, name, data]) };
}

function directoryHeader({ part, header, offset }: Written): Buffer {
  const name = Buffer.from(part.listedName ?? part.name);
  const listed = Buffer.from(header);
  listed.writeUInt32LE(part.declaredBytes ?? header.readUInt32LE(18), 18);
  listed.writeUInt16LE(name.length, 22);
  const rest = Buffer.alloc(14);
  rest.writeUInt32LE(((part.mode ?? 0) << 16) >>> 0, 6);
  rest.writeUInt32LE(part.offset ?? offset, 10);
  return Buffer.concat([Buffer.from("PK\x01\x02\x14\x03"), listed, rest, name]);
}
