import { constants, createReadStream, createWriteStream, type ReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdCompress, createZstdDecompress } from "node:zlib";
import { FILE_MODE } from "../../kernel/fileModes.ts";
import { messageOf } from "../../kernel/text/errorReason.ts";
import { systemErrorText } from "../../kernel/text/systemErrorText.ts";
import { StoreError } from "../../ports/eventStore.ts";
import { boundedLines } from "./boundedLines.ts";
import { isMissing, syncFolder } from "./durableFile.ts";
import { nameWhenComplete } from "./partialPath.ts";

/** Far longer than any event can be. */
const LINE_BYTES_MAX = 32 * 1_024 * 1_024;
/** The first bytes of a zstd frame (RFC 8878 §3.1.1). */
const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** A file cannot be read as lines. The message says why, for people. */
export class LineFileError extends StoreError {
  constructor(message: string) {
    super("unavailable", message);
  }
}

/** Compresses text (zstd) piece by piece into a stream, which stays open. */
export async function writeCompressed(chunks: AsyncIterable<string>, to: Writable): Promise<void> {
  await pipeline(Readable.from(chunks), createZstdCompress(), to, { end: false });
}

/**
 * Writes text, compressed (zstd), into a file that gets its name only when it is complete and on disk. What a dead
 * process leaves, the next call removes.
 */
export async function writeCompressedFile(path: string, chunks: AsyncIterable<string>): Promise<void> {
  const write = async (partial: string) => {
    const file = createWriteStream(partial, { mode: FILE_MODE, flags: "wx" });
    await pipeline(Readable.from(chunks), createZstdCompress(), file);
    await using handle = await open(partial, "r+");
    await handle.sync();
  };
  await nameWhenComplete(path, write, join(dirname(path), `.${basename(path)}`));
  await syncFolder(dirname(path));
}

/** The lines of a file, compressed (zstd) or plain, in pages of bounded size. Throws {@link LineFileError}. */
export async function* readLines(path: string): AsyncGenerator<readonly string[]> {
  try {
    const isZstd = await isCompressed(path);
    yield* linesFrom(createReadStream(path), isZstd, path);
  } catch (error) {
    if (error instanceof LineFileError) throw error;
    if (isMissing(error)) throw new LineFileError(`there is no file ${path}`);
    throw new LineFileError(`${path} cannot be read: ${systemErrorText(error) ?? messageOf(error)}`);
  }
}

async function* linesFrom(
  source: ReadStream,
  isZstd: boolean,
  path: string,
): AsyncGenerator<readonly string[]> {
  const bytes = isZstd ? source.pipe(createZstdDecompress()) : source;
  // At once: an `error` event without a listener would end the process.
  source.on("error", (error) => bytes.destroy(error));
  try {
    yield* linesOf(bytes, path);
  } finally {
    source.destroy();
    bytes.destroy();
  }
}

async function isCompressed(path: string): Promise<boolean> {
  // Without O_NONBLOCK, opening a named pipe waits for somebody who writes to it.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  // It is read several times.
  const found = await file.stat();
  if (!found.isFile() && !found.isDirectory()) throw new LineFileError(`${path} is no regular file`);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(ZSTD_MAGIC.length), 0, ZSTD_MAGIC.length, 0);
  return bytesRead === ZSTD_MAGIC.length && buffer.equals(ZSTD_MAGIC);
}

/** Leaves out a last line without a line feed, because the file was cut off there. */
async function* linesOf(chunks: AsyncIterable<Buffer>, path: string): AsyncGenerator<readonly string[]> {
  let lines = 0;
  for await (const page of boundedLines(chunks, LINE_BYTES_MAX, false)) {
    const tooLong = page.indexOf(null);
    if (tooLong >= 0)
      throw new LineFileError(`line ${lines + tooLong + 1} of ${path} has more than ${LINE_BYTES_MAX} bytes`);
    lines += page.length;
    yield page as readonly string[];
  }
}
