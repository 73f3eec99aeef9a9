import { ALLOCATOR_SETTINGS } from "../../src/service/restartWithEngineSettings.ts";
import { growthEmailId } from "./growthHistories.ts";
import { mailBody, templateMailBody } from "./mail.ts";
import { percentile } from "./report.ts";

/** What a load generator is told. */
export interface LoadOptions {
  readonly url: string;
  readonly apiKey: string;
  readonly connections: number;
  readonly requests: number;
  /** Keys are `<prefix>-<number>`; the same prefix again replays. */
  readonly keyPrefix: string;
  /** Sends by this template; without it the content is in the request. */
  readonly templateId?: string;
  /** Reads messages of a grown log by their ids, in place of sending. */
  readonly reads?: { readonly workspaceId: string; readonly messages: number; readonly seed: number };
}

/** What it saw; latencies in ms. */
export interface LoadResult {
  readonly accepted: number;
  readonly refused: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
}

const BODIES = 64;
/** Of the number in an idempotency key. */
const KEY_DIGITS = 8;

/** Runs the generator in a process of its own, as callers are. */
export async function httpLoad(options: LoadOptions): Promise<LoadResult> {
  const child = Bun.spawn([process.execPath, import.meta.path, JSON.stringify(options)], {
    // It shares the processors with what it measures, so it takes as little of them as it can.
    env: { ...process.env, ...ALLOCATOR_SETTINGS },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error("the load generator failed");
  return JSON.parse(text) as LoadResult;
}

/** A small repeatable source of numbers (mulberry32): runs are compared, so they send the same. */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The requests of a run by their numbers. What it answers is good until the next call. */
function requestsOf(options: LoadOptions): (number: number) => string | Uint8Array {
  const { host } = new URL(options.url);
  const headers = `HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${options.apiKey}\r\n`;
  const { reads } = options;
  if (reads) {
    const random = seededRandom(reads.seed);
    return () => {
      const id = growthEmailId(reads.workspaceId, Math.floor(random() * reads.messages));
      return `GET /api/v1/emails/${id} ${headers}\r\n`;
    };
  }
  const head = `POST /api/v1/emails ${headers}Content-Type: application/json\r\nIdempotency-Key: ${options.keyPrefix}-`;
  const requests = bodies(options).map((body) => {
    const length = Buffer.byteLength(body);
    return Buffer.from(`${head}${"0".repeat(KEY_DIGITS)}\r\nContent-Length: ${length}\r\n\r\n${body}`);
  });
  const keyEnd = Buffer.byteLength(head) + KEY_DIGITS;
  return (number) => {
    const request = requests[number % BODIES] as Buffer;
    writeDigits(request, number, keyEnd);
    return request;
  };
}

/** Writes the number as {@link KEY_DIGITS} digits before `end`. */
function writeDigits(bytes: Uint8Array, number: number, end: number): void {
  let rest = number;
  for (let at = end - 1; at >= end - KEY_DIGITS; at -= 1) {
    bytes[at] = 48 + (rest % 10);
    rest = Math.floor(rest / 10);
  }
}

function bodies({ templateId }: LoadOptions): readonly string[] {
  const random = seededRandom(1);
  return Array.from({ length: BODIES }, () =>
    JSON.stringify(templateId ? templateMailBody(random, templateId) : mailBody(random)),
  );
}

/** Plain sockets and requests that are bytes beforehand, so that the generator costs little of the two cores. */
async function generate(options: LoadOptions): Promise<LoadResult> {
  const { hostname, port } = new URL(options.url);
  const requestOf = requestsOf(options);
  const success = options.reads ? "HTTP/1.1 200" : "HTTP/1.1 202";
  const latencies: number[] = [];
  let next = 0;
  let accepted = 0;
  let refused = 0;
  const startedAt = performance.now();
  await new Promise<void>((resolve, reject) => {
    const openSocket = () => {
      let sentAt = 0;
      let pending = "";
      const sendNext = (socket: Bun.Socket) => {
        if (next >= options.requests) {
          socket.end();
          if (accepted + refused === options.requests) resolve();
          return;
        }
        const number = next++;
        sentAt = performance.now();
        socket.write(requestOf(number));
      };
      Bun.connect({
        hostname,
        port: Number(port),
        socket: {
          open: sendNext,
          data(socket, chunk) {
            pending += chunk.toString("latin1");
            const headers = pending.indexOf("\r\n\r\n");
            if (headers < 0) return;
            const length = Number(/content-length: (\d+)/i.exec(pending)?.[1] ?? 0);
            if (pending.length < headers + 4 + length) return;
            latencies.push(performance.now() - sentAt);
            if (pending.startsWith(success)) accepted += 1;
            else refused += 1;
            pending = "";
            sendNext(socket);
          },
          close() {
            if (next < options.requests) reject(new Error("the service closed a connection"));
          },
          error: (_socket, error) => reject(error),
        },
      }).catch(reject);
    };
    for (let index = 0; index < options.connections; index += 1) openSocket();
  });
  const seconds = (performance.now() - startedAt) / 1_000;
  latencies.sort((left, right) => left - right);
  return {
    accepted,
    refused,
    perSecond: accepted / seconds,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
  };
}

if (import.meta.main) {
  const result = await generate(JSON.parse(process.argv[2] ?? "{}") as LoadOptions);
  process.stdout.write(JSON.stringify(result));
}
