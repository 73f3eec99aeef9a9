import { readAtMost } from "../../kernel/byteBuffer.ts";
import { type S3Access, signedUrl } from "./s3Signature.ts";

/** A bucket, or the part of it below `prefix`. */
export interface S3Location extends S3Access {
  /** The first part of the path (path style). */
  readonly bucket: string;
  /** Precedes every key; empty, or ends with `/`. */
  readonly prefix: string;
  /** How the server is told to encrypt each object; null or left out: as the bucket does by default. */
  readonly serverSideEncryption?: ServerSideEncryption | null;
  /** The KMS key for `aws:kms`; null or left out: the bucket's. */
  readonly kmsKeyId?: string | null;
}

export const SERVER_SIDE_ENCRYPTIONS = ["AES256", "aws:kms"] as const;
export type ServerSideEncryption = (typeof SERVER_SIDE_ENCRYPTIONS)[number];

/** A call ran out of time. */
class S3Timeout extends Error {
  override readonly message = "the S3 server did not answer in time";
}

/** The server refused the request and would refuse it again. */
class S3Refusal extends Error {
  override readonly name = "S3Refusal";
}

/** An object's bytes and the server's time. `status` is 2xx or one that the caller expected. */
interface S3Answer {
  readonly status: number;
  readonly bytes: Uint8Array;
  /** Epoch ms; NaN if the server sent none. */
  readonly date: number;
}

export interface S3Request {
  readonly method: "GET" | "HEAD" | "PUT" | "DELETE";
  readonly key: string;
  /** Makes it a request to the bucket itself, without the key. */
  readonly parameters?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses other than 2xx that are results, not failures. */
  readonly expected?: readonly number[];
}

export interface S3Requests {
  /** Makes a repeatable request. Retries while the server has trouble and `deadline` permits. */
  send(request: S3Request, deadline: number): Promise<S3Answer>;
}

/** The most bytes of an object or another answer: far more than any file, or message as JSON, has. */
export const OBJECT_BYTES_MAX = 32 * 1_024 * 1_024;
const NOT_FOUND = 404;
const ATTEMPTS_MAX = 4;
const RETRY_MS_FIRST = 100;
/** How long a signed URL is valid, in seconds: as far as S3 lets clocks differ. */
const SIGNED_SECONDS = 900;
/** The server has trouble of its own, or asks us to slow down. */
const RETRYABLE: ReadonlySet<number> = new Set([408, 409, 429, 500, 502, 503, 504]);

/** The code in an S3 error document. We don't quote the rest, which may contain keys. */
function codeIn(bytes: Uint8Array): string {
  return /<Code>([\w.]{1,64})<\/Code>/.exec(new TextDecoder().decode(bytes.subarray(0, 4_096)))?.[1] ?? "";
}

/**
 * Whether an expected status really says something about the object. A missing bucket or a misconfigured proxy also
 * answers 404, which proves nothing. The answer to a HEAD never says what is missing.
 */
function isAnswer({ method, expected = [] }: S3Request, status: number, code: string): boolean {
  if (!expected.includes(status)) return false;
  return status !== NOT_FOUND || method === "HEAD" || code === "NoSuchKey";
}

/** Throws if something other than an S3 server reports a successful write, because it would have stored nothing. */
function requireReceipt({ method }: S3Request, { ok, headers }: Response): void {
  if (method !== "PUT" || !ok || headers.has("etag")) return;
  throw new S3Refusal(
    "the S3 server answered a write without an ETag: is there another server at S3_ENDPOINT?",
  );
}

/** The error to report: an earlier failure says more than the time-out that followed it. */
function moreInformative(before: unknown, failure: unknown): unknown {
  return failure instanceof S3Timeout ? (before ?? failure) : failure;
}

/** The headers of a write that say how to encrypt the object; none if the bucket decides. */
function encryptionHeaders({
  serverSideEncryption = null,
  kmsKeyId = null,
}: S3Location): Readonly<Record<string, string>> {
  if (serverSideEncryption === null) return {};
  return {
    "x-amz-server-side-encryption": serverSideEncryption,
    ...(kmsKeyId === null ? {} : { "x-amz-server-side-encryption-aws-kms-key-id": kmsKeyId }),
  };
}

/** Requests to one bucket, signed in the query. Not by Bun's client, because its calls have no time-out. */
export function s3Requests(location: S3Location, now: () => number): S3Requests {
  const { bucket } = location;
  const encryption = encryptionHeaders(location);
  const left = (deadline: number) => Math.max(1, Math.ceil(deadline - now()));

  const urlOf = ({ method, key, parameters }: S3Request) =>
    signedUrl(location, {
      method,
      path: parameters === undefined ? `/${bucket}/${key}` : `/${bucket}`,
      parameters: parameters ?? {},
      headers: method === "PUT" ? encryption : {},
      at: new Date(),
      expiresSeconds: SIGNED_SECONDS,
    });
  const fetchSigned = (request: S3Request, deadline: number) => {
    const { method, body } = request;
    const headers = { ...request.headers, ...(method === "PUT" ? encryption : {}) };
    return fetch(urlOf(request), {
      method,
      redirect: "manual",
      signal: AbortSignal.timeout(left(deadline)),
      ...(body === undefined ? {} : { body }),
      headers,
    }).catch((error: { code?: string; name?: string }) => {
      if (error.name === "TimeoutError") throw new S3Timeout();
      // Don't pass on the error itself: it contains the signed URL, which grants access until it expires.
      throw new Error(`the S3 server cannot be reached: ${error.code ?? error.name}`);
    });
  };
  const once = async (request: S3Request, deadline: number): Promise<S3Answer> => {
    const response = await fetchSigned(request, deadline);
    const { status } = response;
    const body = (response.body ?? []) as AsyncIterable<Uint8Array>;
    const bytes = await readAtMost(OBJECT_BYTES_MAX, body);
    if (bytes === null) throw new S3Refusal("the S3 server sent more bytes than any object has");
    const date = Date.parse(response.headers.get("date") ?? "");
    const code = response.ok ? "" : codeIn(bytes);
    requireReceipt(request, response);
    if (response.ok || isAnswer(request, status, code)) return { status, bytes, date };
    const said = `the S3 server answered ${status} ${code}`.trim();
    throw RETRYABLE.has(status) ? new Error(said) : new S3Refusal(said);
  };

  return {
    async send(request, deadline) {
      let failure: unknown = null;
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await once(request, deadline);
        } catch (error) {
          failure = moreInformative(failure, error);
          const waitMs = RETRY_MS_FIRST * 2 ** (attempt - 1) * (0.5 + Math.random());
          const isOver = attempt === ATTEMPTS_MAX || now() + waitMs >= deadline;
          if (error instanceof S3Refusal || isOver) throw failure;
          await Bun.sleep(waitMs);
        }
      }
    },
  };
}
