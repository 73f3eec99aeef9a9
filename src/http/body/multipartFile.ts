import busboy from "busboy";
import { FILE_BYTES_MAX } from "../../domain/attachment/fileSizeLimit.ts";
import { grouped } from "../../kernel/text/readableNumbers.ts";
import { codePoints } from "../../kernel/text/textLength.ts";
import { invalid, Problem } from "../server/problem.ts";
import type { IncomingBody } from "./bodyAdmission.ts";
import { contentLengthOf, partsOf } from "./bodyBytes.ts";
import { MULTIPART_FRAME_BYTES_MAX } from "./bodyLimits.ts";
import { FILENAME_CHARACTERS_MAX } from "./commonSchemas.ts";

/** The only file of a multipart body, while it arrives. */
interface FilePart {
  readonly filename: string;
  /** The type that its part declares; null if it declares none: see {@link UNDECLARED_TYPES}. */
  readonly contentType: string | null;
  /** The bytes as they arrive. Ends only if the whole body was well-formed; otherwise throws a `Problem`. */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Discards what was not read. */
  close(): Promise<void>;
}

const FIELD_BYTES_MAX = 1_024;
/** The transfer encodings that leave bytes unchanged; RFC 7578 §4.7 deprecates the others. */
const PLAIN_ENCODINGS: ReadonlySet<string> = new Set(["7bit", "8bit", "binary"]);

/**
 * The types of a part whose sender does not know the type: none, which means text/plain (RFC 7578 §4.4), and what curl
 * and browsers put for an extension that they do not know.
 */
const UNDECLARED_TYPES: ReadonlySet<string> = new Set(["text/plain", "application/octet-stream"]);

/** What has been parsed but not yet taken. */
interface Parse {
  readonly parser: busboy.Busboy;
  readonly ready: Uint8Array[];
  info: Pick<FilePart, "filename" | "contentType"> | null;
  fault: Problem | null;
}

function malformed(what: string): Problem {
  return new Problem("INVALID_REQUEST", { detail: `the multipart body ${what}` });
}

function tooLarge(): Problem {
  return new Problem("ATTACHMENT_LIMIT_EXCEEDED", {
    detail: `the file is over ${grouped(FILE_BYTES_MAX)} bytes`,
  });
}

/**
 * Reads a multipart/form-data body (RFC 7578) up to the first bytes of its only file, named `file`. Refuses a body by
 * its length if that can only be too large, otherwise once its file becomes too large.
 */
export async function openFilePart(request: Request, body: IncomingBody): Promise<FilePart> {
  if ((contentLengthOf(request.headers) ?? 0) > FILE_BYTES_MAX + MULTIPART_FRAME_BYTES_MAX) throw tooLarge();
  const parse = startParse(request.headers);
  const chunks = received(bytesOf(request, body), parse);
  const first = await chunks.next();
  if (parse.info === null) throw malformed("has no file");
  return {
    ...parse.info,
    chunks: (async function* () {
      if (first.done) return;
      yield first.value;
      yield* chunks;
    })(),
    close: async () => {
      await chunks.return();
    },
  };
}

function startParse(headers: Headers): Parse {
  const parse: Parse = { parser: newParser(headers), ready: [], info: null, fault: null };
  parse.parser.on("file", (name, stream, { filename, encoding, mimeType }) => {
    stream.on("data", (chunk: Uint8Array) => parse.ready.push(chunk));
    stream.on("limit", () => {
      parse.fault ??= tooLarge();
    });
    // The parser reports it too.
    stream.on("error", () => {});
    if (parse.info !== null) parse.fault ??= malformed("has more than one file");
    else parse.fault ??= partFault(name, filename, encoding);
    const contentType = UNDECLARED_TYPES.has(mimeType) ? null : mimeType;
    parse.info ??= { filename: filename ?? "", contentType };
  });
  parse.parser.on("field", (name) => {
    parse.fault ??= partFault(name, undefined, "8bit");
  });
  parse.parser.on("error", () => {
    parse.fault ??= malformed("is malformed or ends early");
  });
  return parse;
}

function newParser(headers: Headers): busboy.Busboy {
  const contentType = headers.get("content-type") ?? "";
  try {
    return busboy({
      headers: { "content-type": contentType },
      preservePath: true,
      defParamCharset: "utf8",
      // The parser reports a file as cut off once it reaches its limit.
      limits: { fileSize: FILE_BYTES_MAX + 1, fieldSize: FIELD_BYTES_MAX },
    });
  } catch {
    throw malformed("has no boundary");
  }
}

/** What is wrong with the headers of a file's part. The parser's types promise names that may be missing. */
function partFault(name: string | undefined, filename: string | undefined, encoding: string): Problem | null {
  if (name !== "file")
    return invalid(`/${name ?? ""}`, "is not known here: the file goes into a part named file");
  if (!filename) return invalid("/file", "has no file name");
  if (filename.includes("\ufffd")) return invalid("/file", "has a file name that is not UTF-8");
  if (codePoints(filename) > FILENAME_CHARACTERS_MAX) {
    return invalid("/file", `has a file name of more than ${FILENAME_CHARACTERS_MAX} characters`);
  }
  if (!PLAIN_ENCODINGS.has(encoding)) return invalid("/file", "has a Content-Transfer-Encoding");
  return null;
}

/** The file's bytes, one chunk of the body after another; reads the next chunk only when the last was taken. */
async function* received(
  body: AsyncIterable<Uint8Array>,
  parse: Parse,
): AsyncGenerator<Uint8Array, void, void> {
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      await written(parse.parser, chunk);
      if (parse.fault) throw parse.fault;
      if (bytes > FILE_BYTES_MAX + MULTIPART_FRAME_BYTES_MAX) throw tooLarge();
      yield* parse.ready.splice(0);
    }
    await ended(parse.parser);
    if (parse.fault) throw parse.fault;
    yield* parse.ready.splice(0);
  } finally {
    parse.parser.destroy();
  }
}

/**
 * The body's bytes. They are in memory only briefly, so they do not count as bodies in flight. A client that hangs up
 * leaves a body that ends early, which is not our fault.
 */
async function* bytesOf(request: Request, body: IncomingBody): AsyncGenerator<Uint8Array, void, void> {
  try {
    for await (const part of partsOf(request, body)) {
      body.pass(part.byteLength);
      yield part;
    }
  } catch (error) {
    throw error instanceof Problem ? error : malformed("ends early");
  }
}

/** Settles when the parser has taken the chunk, and has recorded any fault in it. */
function written(parser: busboy.Busboy, chunk: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    parser.write(chunk, () => resolve());
  });
}

function ended(parser: busboy.Busboy): Promise<void> {
  return new Promise((resolve) => {
    parser.once("close", () => resolve());
    parser.end();
  });
}
