/** What a generator of large sends is told. */
interface LargeSendsOptions {
  readonly url: string;
  readonly apiKey: string;
  readonly clients: number;
}

/** What it saw. */
export interface LargeSendsResult {
  readonly accepted: number;
  /** How often a client was told to come again. */
  readonly refused: number;
  /** From the first byte to the last 202. */
  readonly seconds: number;
}

const BODY_BYTES = 16_000_000;
const FILE_BYTES = 5_000_000;
const FILES = 2;
const CHUNK_BYTES = 262_144;

/** Runs the generator in a process of its own, as callers are. */
export async function largeSends(options: LargeSendsOptions): Promise<LargeSendsResult> {
  const child = Bun.spawn([process.execPath, import.meta.path, JSON.stringify(options)], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error("the generator of large sends failed");
  return JSON.parse(text) as LargeSendsResult;
}

/** As many decoded bytes of files as a message may have, in a request that is as long as one may be. */
function largestBody(): Buffer {
  const attachments = Array.from({ length: FILES }, (_, index) => {
    const content = Buffer.alloc(FILE_BYTES);
    // The most that the source of randomness gives at once.
    for (let at = 0; at < FILE_BYTES; at += 65_536) crypto.getRandomValues(content.subarray(at, at + 65_536));
    content.write("%PDF-1.7\n");
    return {
      filename: `file-${index}.pdf`,
      content_type: "application/pdf",
      content: content.toString("base64"),
    };
  });
  const fields = {
    from: "hello@example.com",
    to: "someone@example.net",
    subject: "Large",
    text: "See attached.",
  };
  return Buffer.from(JSON.stringify({ ...fields, attachments }).padEnd(BODY_BYTES));
}

interface Answered {
  readonly status: number;
  readonly retryAfterSeconds: number;
}

/** One attempt. Like any careful client it stops sending when the answer is there before the body is out. */
function attempt({ url, apiKey }: LargeSendsOptions, key: string, body: Buffer): Promise<Answered> {
  const { hostname, port, host } = new URL(url);
  const lines = [
    "POST /api/v1/emails HTTP/1.1",
    `Host: ${host}`,
    `Authorization: Bearer ${apiKey}`,
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    `Idempotency-Key: ${key}`,
  ];
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`);
  return new Promise((resolve, reject) => {
    let answer = "";
    let sent = 0;
    const sendOn = (socket: Bun.Socket) => {
      while (sent < head.length + body.length) {
        const part = sent < head.length ? head.subarray(sent) : body.subarray(sent - head.length);
        const written = socket.write(part.subarray(0, CHUNK_BYTES));
        if (written <= 0) return;
        sent += written;
      }
    };
    Bun.connect({
      hostname,
      port: Number(port),
      socket: {
        open: sendOn,
        drain: sendOn,
        data(socket, chunk) {
          answer += chunk.toString("latin1");
          if (!answer.includes("\r\n\r\n")) return;
          const status = Number(answer.slice("HTTP/1.1 ".length, "HTTP/1.1 202".length));
          resolve({ status, retryAfterSeconds: Number(/retry-after: (\d+)/i.exec(answer)?.[1] ?? 1) });
          socket.terminate();
        },
        close: () => reject(new Error("the service closed a connection without an answer")),
        error: (_socket, error) => reject(error),
      },
    }).catch(reject);
  });
}

async function generate(options: LargeSendsOptions): Promise<LargeSendsResult> {
  const body = largestBody();
  let accepted = 0;
  let refused = 0;
  const startedAt = performance.now();
  const client = async (number: number): Promise<void> => {
    for (;;) {
      const { status, retryAfterSeconds } = await attempt(options, `large-send-${number}`, body);
      if (status === 202) {
        accepted += 1;
        return;
      }
      if (status !== 503) throw new Error(`a large send was answered by ${status}`);
      refused += 1;
      await Bun.sleep(retryAfterSeconds * 1_000);
    }
  };
  await Promise.all(Array.from({ length: options.clients }, (_, number) => client(number)));
  return { accepted, refused, seconds: (performance.now() - startedAt) / 1_000 };
}

if (import.meta.main) {
  const result = await generate(JSON.parse(process.argv[2] ?? "{}") as LargeSendsOptions);
  process.stdout.write(JSON.stringify(result));
}
