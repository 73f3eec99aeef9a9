import { connect, type NetConnectOpts, type Socket } from "node:net";
import { Readable } from "node:stream";
import { type MalwareScanner, ScannerError, type ScanResult } from "../../ports/malwareScanner.ts";

interface ClamavOptions {
  /** Where clamd listens: `tcp://host:port` or `unix:/path`. */
  readonly url: string;
  /** How long a connection may take. */
  readonly connectTimeoutMs?: number;
  /** How long clamd may take for its verdict after that. */
  readonly verdictTimeoutMs?: number;
}

const CHUNK_BYTES_MAX = 65_536;
/** The longest reply has the name of a signature. */
const REPLY_BYTES_MAX = 4_096;

/**
 * Asks clamd, ClamAV's daemon, over its own protocol (clamd(8), COMMANDS: `zINSTREAM`), with one connection per file.
 * Anything but a verdict is a {@link ScannerError}: a limit of clamd, an error, half a reply, no reply.
 */
export function clamavScanner(options: ClamavOptions): MalwareScanner {
  return { scan: async (bytes) => verdictOf(await ask(options, bytes)) };
}

function addressOf(url: string): NetConnectOpts {
  if (url.startsWith("unix:")) return { path: url.slice("unix:".length) };
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) };
}

/** Sends the file and returns the complete reply without its terminator. */
function ask(
  { url, connectTimeoutMs = 2_000, verdictTimeoutMs = 10_000 }: ClamavOptions,
  bytes: Uint8Array,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(addressOf(url));
    const settle = (end: () => void): void => {
      clearTimeout(timer);
      socket.destroy();
      end();
    };
    const fail = (what: string, cause?: Error): void => {
      settle(() => reject(new ScannerError(`the malware scanner ${what}`, { cause })));
    };
    let timer = setTimeout(() => fail("cannot be reached in time"), connectTimeoutMs);
    let reply = "";
    socket.on("connect", () => {
      clearTimeout(timer);
      timer = setTimeout(() => fail("gives no verdict in time"), verdictTimeoutMs);
      sendFile(socket, bytes);
    });
    socket.on("data", (chunk: Buffer) => {
      reply += chunk.toString("latin1");
      const end = reply.indexOf("\0");
      if (end >= 0) settle(() => resolve(reply.slice(0, end)));
      else if (reply.length > REPLY_BYTES_MAX) fail("answers something else");
    });
    socket.on("error", (error) => fail("cannot be asked", error));
    socket.on("close", () => fail("ended the connection without a verdict"));
  });
}

/** Chunks, each preceded by its length in network byte order; a length of zero ends them. */
function* framesOf(bytes: Uint8Array): Iterable<Uint8Array> {
  yield Buffer.from("zINSTREAM\0");
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES_MAX) {
    const chunk = bytes.subarray(start, start + CHUNK_BYTES_MAX);
    yield lengthOf(chunk.length);
    yield chunk;
  }
  yield lengthOf(0);
}

function lengthOf(bytes: number): Uint8Array {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes);
  return length;
}

/** Pipes the file, so that it is not copied whole into a slow scanner's socket buffer. */
function sendFile(socket: Socket, bytes: Uint8Array): void {
  Readable.from(framesOf(bytes), { objectMode: true }).pipe(socket, { end: false });
}

function verdictOf(reply: string): ScanResult {
  if (reply === "stream: OK") return "clean";
  const found = /^stream: (.+) FOUND$/.exec(reply)?.[1];
  if (found !== undefined) return { found };
  const isTooLarge = reply.startsWith("INSTREAM size limit exceeded");
  const what = isTooLarge ? "takes no files of this size (StreamMaxLength)" : "answers with an error";
  throw new ScannerError(`the malware scanner ${what}`);
}
