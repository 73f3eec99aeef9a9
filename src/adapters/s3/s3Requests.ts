import { S3Client } from "bun";
import { settleWithin } from "../../kernel/sleep.ts";

/** A bucket, or the part of it below `prefix`. */
export interface S3Location {
  /** `https://host[:port]`; the bucket is the first part of the path (path style). */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** Stands before every key; empty, or ends with `/`. */
  readonly prefix: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** The time of a call is over. */
class S3Timeout extends Error {
  override readonly message = "the S3 server did not answer in time";
}

/** The server said no, and will say so again. */
class S3Refusal extends Error {
  override readonly name = "S3Refusal";
}

/** An object's bytes and the server's time. `status` is 200 or one of those that the caller expected. */
interface S3Answer {
  readonly status: number;
  readonly bytes: Uint8Array;
  /** Epoch ms; NaN when the server named none. */
  readonly date: number;
}

export interface S3Request {
  readonly method: "GET" | "HEAD" | "PUT" | "DELETE";
  readonly key: string;
  readonly body?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses beside 2xx that are answers, not failures. */
  readonly expected?: readonly number[];
}

export interface S3Requests {
  readonly client: S3Client;
  /** Makes a request that may be repeated, and repeats it while the server is in trouble and `deadline` allows. */
  send(request: S3Request, deadline: number): Promise<S3Answer>;
  /** An object's bytes as they come, which are to be read before `deadline`. */
  stream(key: string, deadline: number): Promise<ReadableStream<Uint8Array>>;
  /** Settles with `work`, or rejects at the deadline, when Bun's client goes on by itself for a while. */
  within<Result>(deadline: number, work: Result | Promise<Result>): Promise<Result>;
}

/** What is read of one answer: much more than any object holds, which is a file or a message as JSON. */
const ANSWER_BYTES_MAX = 32 * 1_024 * 1_024;
const NOT_FOUND = 404;
const ATTEMPTS_MAX = 4;
const RETRY_MS_FIRST = 100;
/** How long a signed address holds, in seconds: as long as S3 lets clocks differ. */
const SIGNED_SECONDS = 900;
/** The server's own trouble, or its wish that we slow down. */
const WORTH_ANOTHER_TRY: ReadonlySet<number> = new Set([408, 409, 429, 500, 502, 503, 504]);

/** What an S3 error document says in one word; the whole of it may name keys. */
function codeIn(bytes: Uint8Array): string {
  return /<Code>(\w{1,64})<\/Code>/.exec(new TextDecoder().decode(bytes.subarray(0, 4_096)))?.[1] ?? "";
}

/** All of an answer. Throws when there is no end to it, before it fills the memory. */
async function bytesOf({ body }: Response): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of (body ?? []) as AsyncIterable<Uint8Array>) {
    length += piece.byteLength;
    if (length > ANSWER_BYTES_MAX) throw new S3Refusal("the S3 server answered more than any object holds");
    pieces.push(piece);
  }
  const [first] = pieces;
  return pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
}

/**
 * Whether a status that the caller expects is the S3 server's word. A bucket that is not there, or a proxy that has lost
 * its way, answers 404 too; nothing may be concluded from that. The answer to a HEAD never says what is missing.
 */
function isAnswer({ method, expected = [] }: S3Request, status: number, code: string): boolean {
  if (!expected.includes(status)) return false;
  return status !== NOT_FOUND || method === "HEAD" || code === "NoSuchKey";
}

/** Throws where something else than an S3 server has answered a write with success: nothing would be kept. */
function requireReceipt({ method }: S3Request, { ok, headers }: Response): void {
  if (method !== "PUT" || !ok || headers.has("etag")) return;
  throw new S3Refusal(
    "the S3 server answered a write without an ETag: is there another server at S3_ENDPOINT?",
  );
}

/** What the server said before is worth more than that there was no time left for it to say it again. */
function moreTelling(before: unknown, failure: unknown): unknown {
  return failure instanceof S3Timeout ? (before ?? failure) : failure;
}

/**
 * Requests to one bucket. Bun's client signs them (SigV4 in the query); we send those that we must be able to
 * end, because its own calls know no time-out.
 */
export function s3Requests(location: S3Location, now: () => number): S3Requests {
  const { endpoint, region, bucket, accessKeyId, secretAccessKey } = location;
  const client = new S3Client({ endpoint, region, bucket, accessKeyId, secretAccessKey });
  const left = (deadline: number) => Math.max(1, Math.ceil(deadline - now()));

  const fetchSigned = ({ method, key, body, headers }: S3Request, deadline: number) =>
    fetch(client.presign(key, { method, expiresIn: SIGNED_SECONDS }), {
      method,
      redirect: "manual",
      signal: AbortSignal.timeout(left(deadline)),
      ...(body === undefined ? {} : { body }),
      ...(headers === undefined ? {} : { headers }),
    }).catch((error: { code?: string; name?: string }) => {
      if (error.name === "TimeoutError") throw new S3Timeout();
      // The error itself holds the signed address, which is as good as a key for a while.
      throw new Error(`the S3 server cannot be reached: ${error.code ?? error.name}`);
    });
  const once = async (request: S3Request, deadline: number): Promise<S3Answer> => {
    const response = await fetchSigned(request, deadline);
    const { status } = response;
    const bytes = await bytesOf(response);
    const date = Date.parse(response.headers.get("date") ?? "");
    const code = response.ok ? "" : codeIn(bytes);
    requireReceipt(request, response);
    if (response.ok || isAnswer(request, status, code)) return { status, bytes, date };
    const said = `the S3 server answered ${status} ${code}`.trim();
    throw WORTH_ANOTHER_TRY.has(status) ? new Error(said) : new S3Refusal(said);
  };

  return {
    client,
    async send(request, deadline) {
      let failure: unknown = null;
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await once(request, deadline);
        } catch (error) {
          failure = moreTelling(failure, error);
          const waitMs = RETRY_MS_FIRST * 2 ** (attempt - 1) * (0.5 + Math.random());
          const isOver = attempt === ATTEMPTS_MAX || now() + waitMs >= deadline;
          if (error instanceof S3Refusal || isOver) throw failure;
          await Bun.sleep(waitMs);
        }
      }
    },
    async stream(key, deadline) {
      const response = await fetchSigned({ method: "GET", key }, deadline);
      if (!response.ok || response.body === null)
        throw new Error(`the S3 server answered ${response.status}`);
      return response.body;
    },
    within: (deadline, work) =>
      settleWithin(left(deadline), work, () => {
        throw new S3Timeout();
      }),
  };
}
